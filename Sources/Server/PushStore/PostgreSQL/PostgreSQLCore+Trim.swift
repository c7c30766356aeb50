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
        let limit = age() - LedgerRetention.receiptWindow
        section.call(StoreStatements.removeOldReceipts) { $0.append(int8: limit.milliseconds) }
        let stored = ageClock.isStoreDue ? ageClock.stored : nil
        if let stored { section.add(stored) }
        reads.send(section, timeout: Self.timeout) { [weak self] reply in
            if case .done = reply, let stored { self?.ageClock.lastStored = stored }
        }
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
        let asksForJump = addJump(of: part, to: section)
        forgetCancels(of: part)
        addCancels(of: part, to: section)
        reads.send(section, timeout: Self.timeout) { [weak self] reply in
            guard let self else { return }
            part.isTrimDue = false
            // A failure is tried again with the next call of `trim`.
            if part.phase != .gone, case .done(let results) = reply {
                part.goneCancels = []
                if asksForJump { part.jump?.end = try? Self.end(in: results[1]) }
                part.isTrimDue = (try? examine(results[0], of: part, isPinned: isPinned)) ?? false
                if !asksForJump, let jump = part.jump, jump.end == nil { part.isTrimDue = true }
            }
            isFree(part)
            flushLane(of: part)
        }
    }

    // MARK: Cancelled ids

    /// Forgets the cancelled ids that are older than the window.
    private func forgetCancels(of part: LedgerPart) {
        let open = part.machine.cancels.open
        let old = part.cancelTimes.removeAll(
            before: age() - part.machine.dedupe.window, now: settings.clock(), unless: { open[$0] != nil })
        for cancelled in old {
            part.machine.dedupe.forgetCancelled(cancelled.fingerprint, number: cancelled.number)
            part.goneCancels.append(cancelled.number)
        }
    }

    /// Removes the rows of cancelled ids that are forgotten. If the answer is lost, they are removed once more.
    private func addCancels(of part: LedgerPart, to section: PostgreSQLSection) {
        part.goneCancels.removeAll { part.cancelTimes.contains($0) }
        if part.goneCancels.isEmpty { return }
        section.call(StoreStatements.removeCancels) { parameters in
            parameters.append(int4: Int32(part.part))
            parameters.append(int8: part.epoch)
            parameters.append(int8Array: part.goneCancels.lazy.map { Int64(bitPattern: $0) })
        }
    }

    // MARK: Rows that are dated ahead

    /// A row with a time further ahead than this was written while the clock of the database was wrong.
    static let tolerance: Duration = .seconds(3600)

    /// Asks for the end of the rows that are dated ahead, if it is needed. Returns whether it does.
    private func addJump(of part: LedgerPart, to section: PostgreSQLSection) -> Bool {
        guard let jump = part.jump, jump.end == nil else { return false }
        let limit = settings.clock() + Self.tolerance
        section.call(StoreStatements.firstRowInTime) { parameters in
            parameters.append(int4: Int32(part.part))
            parameters.append(int8: Int64(bitPattern: jump.first))
            parameters.append(int8: limit.milliseconds)
        }
        return true
    }

    private static func end(in result: PostgreSQLResult) throws -> DatedRow? {
        guard let row = result.rows.first(where: { _ in true }) else { return nil }
        return try dated(row)
    }

    private static func dated(_ row: PostgreSQLRow) throws -> DatedRow {
        DatedRow(
            number: UInt64(bitPattern: try row.value(0, as: Int64.self)),
            time: WallTime(milliseconds: try row.value(1)))
    }

    /// Returns the time as of which a row ages. Rows that are dated ahead age with the next row that is not. Without this,
    /// they would stay for as long as the clock was ahead.
    private func time(of row: DatedRow, in part: LedgerPart) -> WallTime {
        guard row.time > settings.clock() + Self.tolerance else { return row.time }
        if case (let first, let end?)? = part.jump, first <= row.number, row.number < end.number { return end.time }
        part.jump = (row.number, nil)
        return row.time
    }

    // MARK: Keys

    /// Forgets the keys of old rows. Returns whether there may be more.
    private func examine(_ result: PostgreSQLResult, of part: LedgerPart, isPinned: Bool) throws -> Bool {
        let age = age()
        for row in result.rows {
            let dated = try Self.dated(row)
            guard part.machine.dedupe.isBeyondWindow(time(of: dated, in: part), at: age) else {
                // The window became longer, and the pinned row is not old enough any more.
                if isPinned { part.machine.dedupe.examineAllRowsAgain() }
                return false
            }
            guard let stored = StoredKeyRow(try row.value(2), number: dated.number) else {
                throw StoreError(.damaged, "row \(dated.number) of the table groups is damaged")
            }
            let lookup = part.lookup
            let forgotten = part.machine.dedupe.examine(
                stored.row, scheduled: { (first, count) in lookup.due.numbers(from: first, count: count) },
                hasStoredKey: { lookup.hasStoredKey(of: $0) })
            lookup.examined(stored.row, isKept: forgotten == nil)
            if let forgotten { part.machine.dedupe.forget(forgotten) }
        }
        return isPinned || result.rowCount == Self.rowsAtOnce
    }
}
