import PushLogic
import PushModel
import PushTime
import PushWire

/// The rows of one ledger file, as the rules of the ledger look them up. Confined to the writing thread.
final class SQLiteRows: LedgerLookup {
    let connection: SQLiteConnection
    let statements: LedgerStatements
    /// The row of the table `messages` that was read last.
    var messageRow: MessageRow?
    /// The row of the table `keys` that was read last.
    var keyRow: (number: UInt64, accepted: [UInt8])?

    init(_ connection: SQLiteConnection) throws(StoreError) {
        self.connection = connection
        statements = try LedgerStatements(connection)
    }

    // MARK: Keys

    func storedKey(of seq: UInt64) throws(StoreError) -> AcceptedKey? {
        if keyRow.map({ seq < $0.number || seq - $0.number >= UInt64($0.accepted.count / AcceptedKey.size) }) ?? true {
            let find = statements.findKeys
            defer { find.reset() }
            find.bind(1, seq)
            keyRow = try find.step() ? (find.word(0), find.blob(1)) : nil
        }
        guard let keyRow, seq >= keyRow.number else { return nil }
        let index = Int(clamping: seq - keyRow.number)
        guard index < keyRow.accepted.count / AcceptedKey.size else { return nil }
        return unsafe keyRow.accepted.withUnsafeBytes { unsafe AcceptedKey($0, at: index) }
    }

    func hasStoredKey(of seq: UInt64) throws(StoreError) -> Bool { try storedKey(of: seq) != nil }

    func scheduledKey(of seq: UInt64) throws(StoreError) -> AcceptedKey? {
        let find = statements.findScheduled
        defer { find.reset() }
        find.bind(1, seq)
        guard try find.step() else { return nil }
        return AcceptedKey(fingerprint: find.word(6), storedContent: find.word(7), audience: find.word(8))
    }

    /// Returns which of `count` numbers from the given one belong to scheduled messages.
    func scheduledNumbers(from first: UInt64, count: Int) throws(StoreError) -> Set<UInt64> {
        let find = statements.scheduledBetween
        defer { find.reset() }
        find.bind(1, first)
        find.bind(2, first &+ UInt64(count))
        var found: Set<UInt64> = []
        while try find.step() { found.insert(find.word(0)) }
        return found
    }

    // MARK: Messages

    func message(_ seq: UInt64, isScheduled: Bool) throws(StoreError) -> StoredMessage? {
        do {
            return try isScheduled ? readScheduled(seq) : readWaiting(seq)
        } catch {
            guard error.code == .damaged else { throw error }
            return nil
        }
    }

    /// Reads a message that waits in a row. Throws `damaged` if it cannot be read.
    func readWaiting(_ seq: UInt64) throws(StoreError) -> StoredMessage {
        if !(messageRow?.covers(seq) ?? false) { messageRow = try row(of: seq) }
        guard let row = messageRow, let content = row.message(seq) else { throw damaged(seq) }
        return StoredMessage(time: row.time, content: content)
    }

    /// Reads a scheduled message; nil if it does not exist. Throws `damaged` if it cannot be read.
    func readScheduled(_ seq: UInt64) throws(StoreError) -> StoredMessage? {
        let find = statements.findScheduled
        defer { find.reset() }
        find.bind(1, seq)
        guard try find.step() else { return nil }
        guard let message = scheduled(find) else { throw damaged(seq) }
        return message
    }

    /// Reads a scheduled message from the current row of a statement that selects `seq`, `due`, `time`, `app`, `body` and
    /// `sum`; nil if it is damaged.
    func scheduled(_ statement: SQLiteStatement) -> StoredMessage? {
        guard let app = AppID(statement.text(3)) else { return nil }
        let time = statement.time(2)
        let content = unsafe statement.withBlob(4) { bytes -> MessageRecord.Read? in
            let sum = unsafe MessageChecksum.of(
                bytes, seq: statement.word(0), place: Int(truncatingIfNeeded: statement.number(1)),
                app: MessageChecksum.of(app), time: time)
            // A row of an earlier version has no checksum.
            guard statement.isNull(5) || statement.number(5) == Int64(sum) else { return nil }
            var reader = unsafe ByteReader(bytes)
            return MessageRecord.read(&reader, app: app)
        }
        return content.map { StoredMessage(time: time, content: $0) }
    }

    func row(of seq: UInt64) throws(StoreError) -> MessageRow? {
        let find = statements.findMessages
        defer { find.reset() }
        find.bind(1, seq)
        guard try find.step() else { return nil }
        return MessageRow(
            first: find.word(0), count: max(0, Int(clamping: find.number(1))), time: find.time(2),
            apps: MessageRow.apps(find.text(3)),
            heads: find.blob(4), bodies: find.blob(5), sums: find.isNull(6) ? nil : find.blob(6))
    }

    func damaged(_ seq: UInt64) -> StoreError {
        StoreError(
            .damaged,
            "\(connection.path): message \(seq) is damaged and is not sent; restore the ledger from a backup, or send "
                + "the message again with another id")
    }

    // MARK: Cancellations and receipts

    func cancellation(_ number: UInt64) throws(StoreError) -> StoredCancellation? {
        let find = statements.findCancel
        defer { find.reset() }
        find.bind(1, number)
        guard try find.step() else { return nil }
        if find.isNull(0) { return StoredCancellation(counts: nil) }
        var counts = CancelCounts(sent: find.word(0), cancelled: find.word(1))
        counts.isOfActivities = StoredCancelPart.areOfActivities(bytes: find.number(2))
        return StoredCancellation(counts: counts)
    }

    func hasReceipt(_ id: String, of app: AppID) throws(StoreError) -> Bool {
        let find = statements.findReceipt
        defer { find.reset() }
        find.bind(1, app.name)
        find.bind(2, id)
        return try find.step()
    }
}
