import PushModel

/// What is too old goes, from the front, a little at a time.
extension LedgerCore {
    private static let rowsAtOnce = 256

    /// Whether there is more to do.
    @discardableResult
    func trim(_ retention: LedgerRetention) -> Bool {
        do {
            let log = try trimLog(retention)
            let keys = try trimKeys(retention)
            return log || keys
        } catch {
            if connection.isInTransaction { try? statements.rollBack.run() }
            healthIs(LedgerFault("\(error)"))
            return false
        }
    }

    /// The last row stays: the next number follows from it.
    private func trimLog(_ retention: LedgerRetention) throws(StoreError) -> Bool {
        let limit = clock() - retention.logAge.milliseconds
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
            let isLast = number + UInt64(count) >= writer.next
            guard !isLast, time < limit || logBytes - bytes > retention.logBytes else { break }
            statements.removeLog.bind(1, number)
            try statements.removeLog.run()
            bytes += size
            removed += 1
            first = number + UInt64(count)
        }
        try statements.commit.run()
        logBytes -= bytes
        oldest = first
        return removed == Self.rowsAtOnce
    }

    private struct Forgotten {
        var messages: [(key: AcceptedKey, seq: UInt64)] = []
        var deliveries: [UInt64] = []
    }

    private func trimKeys(_ retention: LedgerRetention) throws(StoreError) -> Bool {
        let limit = clock() - retention.window.milliseconds
        var forgotten = Forgotten()
        var removed = 0
        var after: UInt64 = 0
        try statements.begin.run()
        for _ in 0..<Self.rowsAtOnce {
            let row = statements.oldestKeys
            row.bind(1, after)
            guard try row.step(), row.number(1) < limit else {
                row.reset()
                break
            }
            let number = row.word(0)
            after = number
            let count = unsafe row.withBlob(2) { $0.count / AcceptedKey.size }
            // What is still to be carried out must not be accepted once more.
            if pending.hasOpen(from: number, count: count) {
                row.reset()
                continue
            }
            unsafe row.withBlob(2) { bytes in
                for index in 0..<count {
                    forgotten.messages.append((unsafe AcceptedKey(bytes, at: index), number + UInt64(index)))
                }
            }
            unsafe row.withBlob(3) { bytes in
                for index in 0..<(bytes.count / EndedKey.size) {
                    let key = unsafe EndedKey(bytes, at: index)
                    if key.isClaimed { forgotten.deliveries.append(key.fingerprint) }
                }
            }
            row.reset()
            statements.removeKeys.bind(1, number)
            try statements.removeKeys.run()
            removed += 1
        }
        try statements.commit.run()
        keyRow = nil
        try forget(forgotten)
        return removed == Self.rowsAtOnce
    }

    private func forget(_ forgotten: Forgotten) throws(StoreError) {
        for fingerprint in forgotten.deliveries { deliveries.remove(fingerprint) }
        for (key, seq) in forgotten.messages {
            if scheduledCount > 0, try isScheduled(seq) { continue }
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
    }

    private func isScheduled(_ seq: UInt64) throws(StoreError) -> Bool {
        let find = statements.findScheduled
        defer { find.reset() }
        find.bind(1, seq)
        return try find.step()
    }
}

extension Duration {
    var milliseconds: Int64 { components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 }
}
