import PushLogic
import PushModel
import PushTime
import PushWire

/// Removal of expired rows, from the front and a few at a time.
extension LedgerCore {
    private static let rowsAtOnce = 32
    /// The number of keys in these rows at which a step ends, because other calls wait for it.
    private static let keysAtOnce = 16_384

    /// Removes some expired rows and returns whether there are more: the transactions are small, and other work runs
    /// between them.
    func trim(_ retention: LedgerRetention) -> Bool {
        self.retention = retention
        if let lost = files.fault {
            healthIs(LedgerFault("\(lost)"))
            return false
        }
        do {
            let log = try trimLog()
            let keys = try trimKeys()
            let cancels = try trimCancels(Self.rowsAtOnce, at: age(at: clock()).time)
            let receipts = try trimReceipts(Self.rowsAtOnce, at: age(at: clock()).time)
            let pages = try freeUsedPages()
            return log || keys || cancels || receipts || pages
        } catch {
            if connection.isInTransaction { try? statements.rollBack.run() }
            machine.dedupe.examineAllRowsAgain()
            healthIs(LedgerFault("\(error)"))
            return false
        }
    }

    /// Removes log rows beyond the age or size limit. The last row stays: the next event number follows from it.
    private func trimLog() throws(StoreError) -> Bool {
        let now = clock()
        let limit = age(at: now).time - retention.logAge
        var removed = 0
        var bytes: Int64 = 0
        var first = oldest
        var date = ahead.logDate
        try statements.begin.run()
        while removed < Self.rowsAtOnce {
            let row = statements.oldestLog
            guard try row.step() else {
                row.reset()
                break
            }
            let (number, count, size) = (row.word(0), row.number(1), row.number(3))
            let time = date.time(of: number, writtenAt: row.time(2))
            row.reset()
            first = number
            let isLast = number &+ UInt64(clamping: count) >= machine.writer.next
            guard !isLast, time < limit || logBytes - bytes > retention.logBytes else {
                if ahead.log.mustBeDated(time, at: now, steady: steady()) {
                    date = LogDate(last: machine.writer.next - 1, time: now)
                    try store(date: now)
                }
                break
            }
            statements.removeLog.bind(1, number)
            try statements.removeLog.run()
            bytes += size
            removed += 1
            first = number &+ UInt64(clamping: count)
        }
        if removed > 0 {
            try trimTraces(before: first)
            try LogSize(oldest: first, last: machine.writer.next - 1, bytes: logBytes - bytes)
                .store(statements.setLogSize)
        }
        try statements.commit.run()
        ahead.logDate = date
        logBytes -= bytes
        oldest = min(first, machine.writer.next)
        return removed == Self.rowsAtOnce
    }

    /// Gives all rows of the log the current time if theirs is later. Rows that were written while the clock was ahead
    /// would otherwise stay for as long as it was ahead.
    private func store(date now: WallTime) throws(StoreError) {
        statements.setLogDate.bind(1, now)
        statements.setLogDate.bind(2, machine.writer.next - 1)
        try statements.setLogDate.run()
    }

    /// Does the same for rows without a checksum.
    private func date(_ update: SQLiteStatement, _ now: WallTime) throws(StoreError) {
        update.bind(1, now)
        update.bind(2, now + RowsAhead.tolerance)
        try update.run()
    }

    private func storeAge(_ age: AgeClock.Stored) throws(StoreError) {
        guard ageClock.isStoreDue else { return }
        statements.setAge.bind(1, age.time)
        try statements.setAge.run()
        if let since = age.aheadSince {
            statements.setAheadSince.bind(1, since)
            try statements.setAheadSince.run()
        } else {
            try statements.removeAheadSince.run()
        }
    }

    /// Returns the statement that reads the next row of keys to examine.
    private func nextKeyRow() -> SQLiteStatement {
        switch machine.dedupe.nextKeyRow() {
        case .pinned(let number):
            statements.pinnedKeys.bind(1, number)
            return statements.pinnedKeys
        case .after(let number):
            statements.oldestKeys.bind(1, number)
            return statements.oldestKeys
        }
    }

    private func trimKeys() throws(StoreError) -> Bool {
        let now = clock()
        let age = age(at: now)
        var forgotten: [ForgottenKeys] = []
        var size = 0
        var hasMore = true
        let (rows, hasScheduled) = (rows, machine.scheduledCount > 0)
        try statements.begin.run()
        try storeAge(age)
        for _ in 0..<Self.rowsAtOnce where size < Self.keysAtOnce {
            let row = nextKeyRow()
            defer { row.reset() }
            guard try row.step() else {
                // A pinned row exists unless another program has changed the file.
                if row === statements.pinnedKeys { continue }
                hasMore = false
                break
            }
            let (number, time) = (row.word(0), row.time(1))
            guard machine.dedupe.isBeyondWindow(time, at: age.time) else {
                row.reset()
                if ahead.keys.mustBeDated(time, at: now, steady: steady()) {
                    try date(statements.dateKeys, now)
                    try date(statements.dateCancels, now)
                }
                // The clock was set back, and the pinned row is not old enough any more. Start again with the oldest
                // row.
                if row === statements.pinnedKeys { machine.dedupe.examineAllRowsAgain() }
                hasMore = false
                break
            }
            let keys = try machine.dedupe.examine(
                KeyRow(row),
                scheduled: { (first, count) throws(StoreError) in
                    hasScheduled ? try rows.scheduledNumbers(from: first, count: count) : []
                }, hasStoredKey: { (seq) throws(StoreError) in try rows.hasStoredKey(of: seq) })
            guard let keys else { continue }
            forgotten.append(keys)
            size += keys.count
            statements.removeKeys.bind(1, number)
            try statements.removeKeys.run()
            rows.keyRow = nil
        }
        try statements.commit.run()
        if ageClock.isStoreDue { ageClock.lastStored = age }
        for keys in forgotten { machine.dedupe.forget(keys) }
        return hasMore
    }
}
