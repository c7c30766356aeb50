import Glibc
import PushLogic
import PushLoop
import PushModel
import PushTime
import PushWire

/// The ledger of a single node, as an import reads it. All functions block.
final class SourceLedger {
    /// A row of keys, and the time of its group.
    struct Keys {
        let row: KeyRow
        let time: WallTime
    }

    struct Scheduled {
        let seq: UInt64
        let due: UnixSeconds
        let time: WallTime
        let key: AcceptedKey
        let app: AppID
        let body: [UInt8]

        /// The id of the message; nil if the body is damaged.
        var id: MessageID? {
            unsafe body.withUnsafeBytes { bytes in
                var reader = unsafe ByteReader(bytes)
                return MessageRecord.read(&reader, app: app)?.message.id
            }
        }
    }

    struct Cancel {
        let number: UInt64
        let time: WallTime
        let fingerprint: UInt64
        let app: AppID
        let id: MessageID
        let client: String
        let counts: (sent: Int64, cancelled: Int64)?
        let parts: [StoredCancelPart]
        let isOfActivities: Bool
    }

    private let connection: SQLiteConnection
    private let path: String

    init(in directory: String) throws(StoreError) {
        path = "\(directory)/ledger.db"
        guard unsafe access(path, F_OK) == 0 else {
            throw StoreError(
                .cannotRead,
                "\(directory) has no file ledger.db: \(SystemError.current); name the data directory of a single node")
        }
        connection = try SQLiteConnection(path)
        // What is written here must be on disk before the database has the last word.
        try connection.run("PRAGMA synchronous = FULL")
        guard try LedgerSchema.version(of: connection) > 0 else {
            throw StoreError(
                .cannotRead, "\(path) has no tables of Carillon; name the data directory of a single node")
        }
        try LedgerSchema.prepare(connection)
    }

    private func damaged(_ table: String, row number: UInt64) -> StoreError {
        StoreError(
            .damaged,
            "\(path) is damaged: row \(number) of the table \(table) is invalid; restore it from a backup")
    }

    func secret() throws(StoreError) -> [UInt8] {
        let find = try connection.prepare("SELECT value FROM meta WHERE name = 'secret'")
        defer { find.reset() }
        guard try find.step(), Identities(secret: find.blob(0)) != nil else { throw damaged("meta", row: 0) }
        return find.blob(0)
    }

    func paused() throws(StoreError) -> [(app: String, since: Int64)] {
        let rows = try connection.prepare(
            "SELECT substr(name, 8), value FROM meta WHERE name > 'paused/' AND name < 'paused0'")
        var found: [(app: String, since: Int64)] = []
        while try rows.step() { found.append((rows.text(0), rows.number(1))) }
        return found
    }

    /// The store into which the ledger was imported; nil if it was not.
    func mark() throws(StoreError) -> String? { try ImportRecord.read(connection) }

    func setMark(_ store: String) throws(StoreError) { try ImportRecord.write(store, to: connection) }

    // MARK: Messages

    func forEachMessages(_ visit: (MessageRow) async throws -> Void) async throws {
        let rows = try connection.prepare(
            "SELECT first, count, time, apps, heads, bodies, sums FROM messages ORDER BY first")
        defer { rows.reset() }
        while try rows.step() {
            // A damaged file may have any numbers.
            guard rows.word(0) <= FingerprintTable.maximumValue else { throw damaged("messages", row: rows.word(0)) }
            try await visit(
                MessageRow(
                    first: rows.word(0), count: max(0, Int(clamping: rows.number(1))), time: rows.time(2),
                    apps: MessageRow.apps(rows.text(3)), heads: rows.blob(4), bodies: rows.blob(5),
                    sums: rows.isNull(6) ? nil : rows.blob(6)))
        }
    }

    /// Calls `visit` with the messages of a row, in the order of their numbers.
    func forEachMessage(of row: MessageRow, _ visit: (UInt64, MessageRecord.Read) -> Void) throws(StoreError) {
        for index in 0..<min(row.count, row.heads.count / MessageRowBuilder.headSize) {
            // Scheduled messages have a table of their own.
            guard unsafe row.heads.withUnsafeBytes({ unsafe MessageHead($0, at: index) }) != nil else { continue }
            let seq = row.first + UInt64(index)
            guard let message = row.message(seq) else { throw damaged("messages", row: row.first) }
            visit(seq, message)
        }
    }

    func forEachScheduled(_ visit: (Scheduled) async throws -> Void) async throws {
        let rows = try connection.prepare(
            "SELECT seq, due, time, fingerprint, content, audience, app, body, sum FROM scheduled ORDER BY seq")
        defer { rows.reset() }
        while try rows.step() {
            guard let app = AppID(rows.text(6)) else { throw damaged("scheduled", row: rows.word(0)) }
            let row = LedgerRows.ScheduledRow(
                seq: rows.word(0), due: rows.seconds(1),
                key: AcceptedKey(fingerprint: rows.word(3), storedContent: rows.word(4), audience: rows.word(5)),
                app: app, body: rows.blob(7))
            let time = rows.time(2)
            guard rows.isNull(8) || rows.number(8) == Int64(row.sum(at: time)) else {
                throw damaged("scheduled", row: row.seq)
            }
            try await visit(
                Scheduled(seq: row.seq, due: row.due, time: time, key: row.key, app: app, body: row.body))
        }
    }

    // MARK: Keys and events

    /// The first numbers and the counts of the accepted messages of all rows of keys.
    func keyRanges() throws(StoreError) -> [(first: UInt64, count: Int)] {
        let rows = try connection.prepare("SELECT number, length(accepted) FROM keys ORDER BY number")
        var found: [(first: UInt64, count: Int)] = []
        while try rows.step() { found.append((rows.word(0), max(0, Int(clamping: rows.number(1))) / AcceptedKey.size)) }
        return found
    }

    /// The newest number in the log.
    func newest() throws(StoreError) -> UInt64 {
        let rows = try connection.prepare("SELECT first, count FROM log ORDER BY first DESC LIMIT 1")
        return try rows.step() ? rows.word(0) &+ UInt64(max(1, Int(clamping: rows.number(1)))) &- 1 : 0
    }

    /// Returns the next rows of keys after a number.
    func keys(after number: UInt64, limit: Int64) throws(StoreError) -> [Keys] {
        let rows = try connection.prepare(
            "SELECT number, time, accepted, ended, completed FROM keys WHERE number > ? ORDER BY number LIMIT ?")
        rows.bind(1, number)
        rows.bind(2, limit)
        var found: [Keys] = []
        while try rows.step() {
            let number = rows.word(0)
            found.append(
                Keys(
                    row: KeyRow(
                        number: number,
                        accepted: unsafe rows.withBlob(2) { bytes in
                            (0..<(bytes.count / AcceptedKey.size)).map { unsafe AcceptedKey(bytes, at: $0) }
                        },
                        ended: unsafe rows.withBlob(3) { bytes in
                            (0..<(bytes.count / EndedKey.size)).map { unsafe EndedKey(bytes, at: $0) }
                        },
                        completed: unsafe rows.withBlob(4) { bytes in
                            (0..<(bytes.count / 8)).map { unsafe bytes.word(at: 8 * $0) }
                        }),
                    time: rows.time(1)))
        }
        return found
    }

    /// Returns segments of the log from a number on and before another one.
    func segments(from first: UInt64, before end: UInt64, limit: Int64) throws(StoreError) -> [LogSegment] {
        let rows = try connection.prepare(
            "SELECT first, count, time, body FROM log WHERE first >= ? AND first < ? ORDER BY first LIMIT ?")
        rows.bind(1, first)
        rows.bind(2, end)
        rows.bind(3, limit)
        var found: [LogSegment] = []
        while try rows.step() {
            found.append(
                LogSegment(
                    first: rows.word(0), count: max(0, Int(clamping: rows.number(1))), time: rows.time(2),
                    bytes: rows.blob(3)))
        }
        return found
    }

    // MARK: Rest

    func cancels() throws(StoreError) -> [Cancel] {
        let rows = try connection.prepare(
            """
            SELECT number, time, fingerprint, app, id, client, sent, cancelled, parts, length(parts) FROM cancels
            ORDER BY number
            """)
        var found: [Cancel] = []
        while try rows.step() {
            guard let app = AppID(rows.text(3)), let id = MessageID(accepted: rows.text(4)) else {
                throw damaged("cancels", row: rows.word(0))
            }
            found.append(
                Cancel(
                    number: rows.word(0), time: rows.time(1), fingerprint: rows.word(2), app: app, id: id,
                    client: rows.text(5), counts: rows.isNull(6) ? nil : (rows.number(6), rows.number(7)),
                    parts: unsafe rows.withBlob(8) { bytes in
                        (0..<(bytes.count / StoredCancelPart.size)).map { unsafe StoredCancelPart(bytes, at: $0) }
                    }, isOfActivities: StoredCancelPart.areOfActivities(bytes: rows.number(9))))
        }
        return found
    }

    func receipts() throws(StoreError) -> [(app: String, id: String, time: Int64)] {
        let rows = try connection.prepare("SELECT app, id, time FROM receipts")
        var found: [(app: String, id: String, time: Int64)] = []
        while try rows.step() { found.append((rows.text(0), rows.text(1), rows.number(2))) }
        return found
    }
}
