import PushLogic
import PushLoop
import PushModel
import PushPostgreSQL
import PushTime

/// Forgetting keys that are older than the window. Their rows stay until the partition of their day is dropped.
extension PostgreSQLCore {
    private static let rowsAtOnce: Int64 = 32
    private static let timeout: Duration = .seconds(30)

    /// Examines the keys of all parts, each as far as they are old.
    func trim(_ retention: LedgerRetention) {
        self.retention = retention
        upkeepIfDue()
        let section = PostgreSQLSection()
        let limit = settings.clock() - LedgerRetention.receiptWindow
        section.call(StoreStatements.removeOldReceipts) { $0.append(int8: limit.milliseconds) }
        reads.send(section, timeout: Self.timeout) { _ in }
        for part in parts.values {
            part.machine.dedupe.setWindow(retention.window)
            part.machine.dedupe.limit = max(1, retention.keyLimit / partCount)
            part.isTrimDue = true
            // The calls that came before are stored first.
            part.hasTrimmed = true
        }
    }

    /// Examines the next rows of a part, which is not busy.
    func trim(_ part: LedgerPart) {
        part.isBusy = true
        part.hasTrimmed = true
        let number: UInt64
        let isPinned: Bool
        switch part.machine.dedupe.nextKeyRow() {
        case .pinned(let row): (number, isPinned) = (row, true)
        case .after(let row): (number, isPinned) = (row, false)
        }
        let section = PostgreSQLSection()
        section.call(isPinned ? StoreStatements.pinnedKeys : StoreStatements.agedKeys) { parameters in
            parameters.append(int4: Int32(part.part))
            parameters.append(int8: Int64(bitPattern: number))
            if !isPinned { parameters.append(int8: Self.rowsAtOnce) }
        }
        addCancels(of: part, to: section)
        reads.send(section, timeout: Self.timeout) { [weak self] reply in
            guard let self else { return }
            part.isTrimDue = false
            // A failure is tried again with the next call of `trim`.
            if part.phase != .gone, case .done(let results) = reply {
                part.isTrimDue = (try? examine(results, of: part, isPinned: isPinned)) ?? false
            }
            isFree(part)
            flushLane(of: part)
        }
    }

    private func addCancels(of part: LedgerPart, to section: PostgreSQLSection) {
        guard part.machine.dedupe.cancelledCount > 0 else { return }
        let limit = settings.clock() - part.machine.dedupe.window
        section.call(StoreStatements.removeOldCancels) { parameters in
            parameters.append(int4: Int32(part.part))
            parameters.append(int8: part.epoch)
            parameters.append(int8: limit.milliseconds)
            parameters.append(int8Array: part.machine.cancels.open.keys.lazy.map { Int64(bitPattern: $0) })
        }
    }

    /// Forgets the keys of old rows. Returns whether there may be more.
    private func examine(_ results: [PostgreSQLResult], of part: LedgerPart, isPinned: Bool) throws -> Bool {
        if results.count > 1 {
            for row in results[1].rows {
                part.machine.dedupe.forgetCancelled(UInt64(bitPattern: try row.value(0, as: Int64.self)))
            }
        }
        let now = settings.clock()
        for row in results[0].rows {
            let number = UInt64(bitPattern: try row.value(0, as: Int64.self))
            guard part.machine.dedupe.isBeyondWindow(WallTime(milliseconds: try row.value(1)), at: now) else {
                // The window became longer, and the pinned row is not old enough any more.
                if isPinned { part.machine.dedupe.examineAllRowsAgain() }
                return false
            }
            guard let stored = StoredKeyRow(try row.value(2), number: number) else {
                throw StoreError(.damaged, "row \(number) of the table groups is damaged")
            }
            let lookup = part.lookup
            let forgotten = part.machine.dedupe.examine(stored.row) { (first, count) in
                lookup.due.numbers(from: first, count: count)
            }
            lookup.examined(stored.row, isKept: forgotten == nil)
            if let forgotten { part.machine.dedupe.forget(forgotten) }
        }
        return isPinned || results[0].rowCount == Self.rowsAtOnce
    }
}
