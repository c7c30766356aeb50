import PushModel
import PushTime
import PushWire

/// What is too old goes, from the front, a little at a time.
extension LedgerCore {
    private static let rowsAtOnce = 32
    /// A time so far ahead of the clock was written while the clock was wrong.
    private static let hour: Int64 = 3_600_000

    /// Whether there is more to do: what is too old is let go of in small transactions, between the others.
    func trim(_ retention: LedgerRetention) -> Bool {
        do {
            let log = try trimLog(retention)
            let keys = try trimKeys(retention)
            return log || keys
        } catch {
            if connection.isInTransaction { try? statements.rollBack.run() }
            trimmedUpTo = 0
            healthIs(LedgerFault("\(error)"))
            return false
        }
    }

    /// The last row stays: the next number follows from it.
    private func trimLog(_ retention: LedgerRetention) throws(StoreError) -> Bool {
        let now = clock()
        let limit = now - retention.logAge.wholeMilliseconds
        var removed = 0
        var bytes: Int64 = 0
        var first = oldest
        try statements.begin.run()
        while removed < Self.rowsAtOnce {
            let row = statements.oldestLog
            guard try row.step() else {
                row.reset()
                break
            }
            let (number, count, time, size) = (row.word(0), row.number(1), row.number(2), row.number(3))
            row.reset()
            first = number
            let isLast = number &+ UInt64(clamping: count) >= writer.next
            guard !isLast, time < limit || logBytes - bytes > retention.logBytes else {
                if time > now + Self.hour { try date(statements.dateLog, now) }
                break
            }
            statements.removeLog.bind(1, number)
            try statements.removeLog.run()
            bytes += size
            removed += 1
            first = number &+ UInt64(clamping: count)
        }
        if removed > 0 { try trimTraces(before: first) }
        try statements.commit.run()
        logBytes -= bytes
        oldest = first
        return removed == Self.rowsAtOnce
    }

    /// The clock was wrong, and what was written then would stay for as long as it was wrong: its age counts from now.
    private func date(_ update: SQLiteStatement, _ now: Int64) throws(StoreError) {
        update.bind(1, now)
        update.bind(2, now + Self.hour)
        try update.run()
    }

    private struct Forgotten {
        var messages: [(key: AcceptedKey, seq: UInt64)] = []
        var deliveries: [UInt64] = []
        var isPinned = false
    }

    private func trimKeys(_ retention: LedgerRetention) throws(StoreError) -> Bool {
        let now = clock()
        let limit = now - retention.window.wholeMilliseconds
        var forgotten = Forgotten()
        var after = trimmedUpTo
        var hasMore = true
        try statements.begin.run()
        for _ in 0..<Self.rowsAtOnce {
            let row = statements.oldestKeys
            row.bind(1, after)
            defer { row.reset() }
            guard try row.step() else {
                hasMore = false
                break
            }
            let time = row.number(1)
            if time >= limit {
                row.reset()
                if time > now + Self.hour { try date(statements.dateKeys, now) }
                hasMore = false
                break
            }
            after = row.word(0)
            let keys = try read(row, after)
            if keys.isPinned { continue }
            forgotten.messages += keys.messages
            forgotten.deliveries += keys.deliveries
            statements.removeKeys.bind(1, after)
            try statements.removeKeys.run()
        }
        try statements.commit.run()
        trimmedUpTo = hasMore ? after : 0
        keyRow = nil
        for fingerprint in forgotten.deliveries { deliveries.remove(fingerprint) }
        for (key, seq) in forgotten.messages { forget(key, seq) }
        return hasMore
    }

    /// What a row of keys holds. It is pinned while a message in it is still to be carried out, which must not be
    /// accepted once more, and while it tells what became of deliveries of such a message or that a message is done whose
    /// neighbours are not: after a restart they would all be carried out again.
    private func read(_ row: SQLiteStatement, _ number: UInt64) throws(StoreError) -> Forgotten {
        var keys = Forgotten()
        let count = unsafe row.withBlob(2) { $0.count / AcceptedKey.size }
        let tellsOfRows = unsafe row.withBlob(4) { bytes in
            (0..<(bytes.count / 8)).contains { index in
                unsafe pending.hasRow(
                    of: bytes.word(at: 8 * index))
            }
        }
        keys.isPinned = tellsOfRows || pending.hasOpen(from: number, count: count)
        if keys.isPinned { return keys }
        var ended: [EndedKey] = []
        unsafe row.withBlob(3) { bytes in
            for index in 0..<(bytes.count / EndedKey.size) { ended.append(unsafe EndedKey(bytes, at: index)) }
        }
        var last: UInt64 = 0
        for key in ended {
            if key.isClaimed { keys.deliveries.append(key.fingerprint) }
            guard key.seq != last else { continue }
            last = key.seq
            if try isWaiting(last) {
                keys.isPinned = true
                return keys
            }
        }
        var accepted: [AcceptedKey] = []
        unsafe row.withBlob(2) { bytes in
            for index in 0..<count { accepted.append(unsafe AcceptedKey(bytes, at: index)) }
        }
        for (index, key) in accepted.enumerated() {
            let seq = number + UInt64(index)
            // The id of a scheduled message is remembered by it.
            if try !isScheduled(seq) { keys.messages.append((key, seq)) }
        }
        return keys
    }

    private func isWaiting(_ seq: UInt64) throws(StoreError) -> Bool {
        if pending.contains(seq) { return true }
        return try isScheduled(seq)
    }

    /// From now on a message of this id is a new one.
    func forget(_ key: AcceptedKey, _ seq: UInt64) {
        if key.isSingle { deliveries.remove(key.audience) }
        var others = siblings[key.fingerprint] ?? []
        others.removeAll { $0 == seq }
        if messages.value(of: key.fingerprint) == seq {
            if others.isEmpty {
                messages.remove(key.fingerprint)
            } else {
                messages.set(others.removeFirst(), for: key.fingerprint)
            }
        }
        siblings[key.fingerprint] = others.isEmpty ? nil : others
    }

    private func isScheduled(_ seq: UInt64) throws(StoreError) -> Bool {
        if scheduledCount == 0 { return false }
        let find = statements.findScheduled
        defer { find.reset() }
        find.bind(1, seq)
        return try find.step()
    }
}
