import PushModel
import PushTime
import PushWire

/// What is too old goes, from the front, a little at a time.
extension LedgerCore {
    private static let rowsAtOnce = 32
    /// Keys in those rows: what is handed in meanwhile waits for them.
    private static let keysAtOnce = 16_384
    /// A time so far ahead of the clock was written while the clock was wrong.
    private static let hour: Int64 = 3_600_000

    /// Whether there is more to do: what is too old is let go of in small transactions, between the others.
    func trim(_ retention: LedgerRetention) -> Bool {
        if retention.window != self.retention.window { lookAtAllKeysAgain() }
        self.retention = retention
        do {
            let log = try trimLog()
            let keys = try trimKeys()
            return log || keys
        } catch {
            if connection.isInTransaction { try? statements.rollBack.run() }
            lookAtAllKeysAgain()
            healthIs(LedgerFault("\(error)"))
            return false
        }
    }

    private func lookAtAllKeysAgain() {
        trimmedUpTo = 0
        pinned.removeAll()
    }

    /// The last row stays: the next number follows from it.
    private func trimLog() throws(StoreError) -> Bool {
        let now = clock()
        let limit = age(at: now).time.subtractingSaturated(retention.logAge.wholeMilliseconds)
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
                if time > now.addingSaturated(Self.hour) { try date(statements.dateLog, now) }
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
        oldest = min(first, writer.next)
        return removed == Self.rowsAtOnce
    }

    /// The clock was wrong, and what was written then would stay for as long as it was wrong: its age counts from now.
    private func date(_ update: SQLiteStatement, _ now: Int64) throws(StoreError) {
        update.bind(1, now)
        update.bind(2, now.addingSaturated(Self.hour))
        try update.run()
    }

    /// Milliseconds after which the time is stored by which things grow old: a restart goes on from there.
    private static let agesStoredEvery: Int64 = 600_000

    private func storesAge(_ age: AgeClock.Stored) -> Bool {
        guard let storedAge, storedAge.aheadSince == age.aheadSince else { return true }
        let (passed, overflow) = age.time.subtractingReportingOverflow(storedAge.time)
        return overflow || passed < 0 || passed >= Self.agesStoredEvery
    }

    private func storeAge(_ age: AgeClock.Stored) throws(StoreError) {
        guard storesAge(age) else { return }
        statements.setAge.bind(1, age.time)
        try statements.setAge.run()
        if let since = age.aheadSince {
            statements.setAheadSince.bind(1, since)
            try statements.setAheadSince.run()
        } else {
            try statements.removeAheadSince.run()
        }
    }

    private struct Forgotten {
        var messages: [(key: AcceptedKey, seq: UInt64)] = []
        var deliveries: [EndedKey] = []
        var size: Int { messages.count + deliveries.count }
    }

    private enum KeysRow {
        case forgotten(Forgotten)
        /// Needed until this message, or the last one of the row that begins with it, is done.
        case pinned(until: UInt64)
    }

    private func trimKeys() throws(StoreError) -> Bool {
        let now = clock()
        let age = age(at: now)
        let limit = age.time.subtractingSaturated(retention.window.wholeMilliseconds)
        var forgotten: [Forgotten] = []
        var size = 0
        var hasMore = true
        try statements.begin.run()
        try storeAge(age)
        for _ in 0..<Self.rowsAtOnce where size < Self.keysAtOnce {
            let row: SQLiteStatement
            if let released = pinned.next() {
                row = statements.pinnedKeys
                row.bind(1, released)
            } else {
                row = statements.oldestKeys
                row.bind(1, trimmedUpTo)
            }
            defer { row.reset() }
            guard try row.step() else {
                // A row that was pinned is there, unless the file was changed by somebody else.
                if row === statements.pinnedKeys { continue }
                hasMore = false
                break
            }
            let (number, time) = (row.word(0), row.number(1))
            if time >= limit {
                row.reset()
                if time > now.addingSaturated(Self.hour) { try date(statements.dateKeys, now) }
                // The clock was set back: when this one's time has come again, all that wait are looked at.
                if row === statements.pinnedKeys { lookAtAllKeysAgain() }
                hasMore = false
                break
            }
            trimmedUpTo = max(trimmedUpTo, number)
            switch try read(row, number) {
            case .pinned(let message):
                pinned.pin(number, until: message)
            case .forgotten(let keys):
                forgotten.append(keys)
                size += keys.size
                statements.removeKeys.bind(1, number)
                try statements.removeKeys.run()
            }
        }
        try statements.commit.run()
        if storesAge(age) { storedAge = age }
        keyRow = nil
        for keys in forgotten {
            for key in keys.deliveries where key.isClaimed {
                deliveries.remove(key.fingerprint)
                if key.isOnly { endedOnly.remove(key.fingerprint) }
            }
            for (key, seq) in keys.messages { forget(key, seq) }
        }
        return hasMore
    }

    /// What a row of keys holds. It is pinned while a message in it is still to be carried out, which must not be
    /// accepted once more, and while it tells what became of deliveries of such a message or that a message is done whose
    /// neighbours are not: after a restart they would all be carried out again.
    private func read(_ row: SQLiteStatement, _ number: UInt64) throws(StoreError) -> KeysRow {
        let count = unsafe row.withBlob(2) { $0.count / AcceptedKey.size }
        if let open = pending.openRow(from: number, count: count) { return .pinned(until: open) }
        let told = unsafe row.withBlob(4) { bytes -> UInt64? in
            for index in 0..<(bytes.count / 8) {
                if let open = pending.row(of: unsafe bytes.word(at: 8 * index)) { return open }
            }
            return nil
        }
        if let told { return .pinned(until: told) }
        var keys = Forgotten()
        unsafe row.withBlob(3) { bytes in
            for index in 0..<(bytes.count / EndedKey.size) { keys.deliveries.append(unsafe EndedKey(bytes, at: index)) }
        }
        var last: UInt64 = 0
        for key in keys.deliveries where key.seq != last {
            last = key.seq
            if try isWaiting(last) { return .pinned(until: last) }
        }
        let scheduled = try scheduledNumbers(from: number, count: count)
        unsafe row.withBlob(2) { bytes in
            for index in 0..<count {
                let seq = number &+ UInt64(index)
                // The id of a scheduled message is remembered by it.
                if scheduled.isEmpty || !scheduled.contains(seq) {
                    keys.messages.append((unsafe AcceptedKey(bytes, at: index), seq))
                }
            }
        }
        return .forgotten(keys)
    }

    private func isWaiting(_ seq: UInt64) throws(StoreError) -> Bool {
        if pending.contains(seq) { return true }
        if scheduledCount == 0 { return false }
        let find = statements.scheduledBetween
        defer { find.reset() }
        find.bind(1, seq)
        find.bind(2, seq &+ 1)
        return try find.step()
    }

    private func scheduledNumbers(from first: UInt64, count: Int) throws(StoreError) -> Set<UInt64> {
        if scheduledCount == 0 { return [] }
        let find = statements.scheduledBetween
        defer { find.reset() }
        find.bind(1, first)
        find.bind(2, first &+ UInt64(count))
        var found: Set<UInt64> = []
        while try find.step() { found.insert(find.word(0)) }
        return found
    }

    /// From now on a message of this id is a new one.
    func forget(_ key: AcceptedKey, _ seq: UInt64) {
        // What ended much later than it was accepted is remembered by its end.
        if key.isSingle, !endedOnly.contains(key.audience) { deliveries.remove(key.audience) }
        messages.remove(seq, of: key.fingerprint, for: key.audience)
    }
}

extension Int64 {
    fileprivate func addingSaturated(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }

    fileprivate func subtractingSaturated(_ other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other < 0 ? .max : .min) : difference
    }
}
