import PushLogic
import PushModel
import PushWire

/// The tables of the ledger. Rows are appended at the end and removed at the front, so that messages and deliveries
/// cause no writes at random places of the file.
enum LedgerSchema {
    /// The version of the file, in `PRAGMA user_version`. A change of the tables, or of what is in their columns, has
    /// the next number, an entry in ``migrations``, and a directory among the fixtures of the tests.
    static let version: Int64 = 4

    /// What makes a file of each version one of the next. All steps that a file needs are one transaction.
    /// Version 4 has messages of types with words and for kinds of addresses, which earlier versions cannot read.
    static let migrations: [Int64: String] = [1: laterTables, 2: checksums, 3: ""]

    /// - `meta`: named values. `secret` is the key of the hashes in ``LedgerCore/identities``, which the registry has, too; `age` is the time of
    ///   ``AgeClock``; `age_ahead_since` is when the wall clock was found to be ahead of it; `log_date…` are the values of
    ///   ``LogDate``; `log_size` is ``LogSize``; `probe` is written to test for free space; `paused/APP` is when an operator paused the app;
    ///   `restored_…` are the values of ``RestoreRecord``; `erasure/…` are the erasures of users that have not ended;
    ///   `wipe/…` are pages that an erasure overwrites.
    /// - `log`: events, one `LogSegment` per row.
    /// - `heads`: the number of the newest event of each topic.
    /// - `messages`: accepted messages, many per row. A row is removed when all of its messages are done. The column
    ///   `heads` holds for each message its offset in `bodies` (u32), its priority (u8), whether it is broad (u8) and
    ///   its index in `apps` (u16).
    /// - `scheduled`: messages with a `not_before` in the future, until they are done.
    /// - `keys`: the data for deduplication, one row per group; `number` is the number of the group's first event.
    ///   `accepted` holds 24 bytes per message in the order of their numbers (fingerprint, content, audience). `ended`
    ///   holds 16 bytes per delivery (fingerprint, message and outcome); a message for one device has such an entry
    ///   only if it was scheduled or waited for long. `completed` holds 8 bytes per message.
    /// - `trace_runs`: parts of the log, indexed by message and device (``TraceRun``).
    /// - `trace_blocks`: the entries of these runs. The ids of a run's blocks begin with the number of its first event.
    static let tables = """
        CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
        CREATE TABLE log (first INTEGER PRIMARY KEY, count INTEGER NOT NULL, time INTEGER NOT NULL, body BLOB NOT NULL);
        CREATE TABLE heads (
            app TEXT NOT NULL, kind INTEGER NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (app, kind)) WITHOUT ROWID;
        CREATE TABLE messages (
            first INTEGER PRIMARY KEY, count INTEGER NOT NULL, time INTEGER NOT NULL, apps TEXT NOT NULL,
            heads BLOB NOT NULL, bodies BLOB NOT NULL);
        CREATE TABLE scheduled (
            seq INTEGER PRIMARY KEY, due INTEGER NOT NULL, time INTEGER NOT NULL, fingerprint INTEGER NOT NULL,
            content INTEGER NOT NULL, audience INTEGER NOT NULL, app TEXT NOT NULL, body BLOB NOT NULL);
        CREATE INDEX scheduled_by_due ON scheduled (due, seq);
        CREATE TABLE keys (
            number INTEGER PRIMARY KEY, time INTEGER NOT NULL, accepted BLOB NOT NULL, ended BLOB NOT NULL,
            completed BLOB NOT NULL);
        CREATE TABLE trace_runs (
            first INTEGER PRIMARY KEY, last INTEGER NOT NULL, lows BLOB NOT NULL, rows BLOB NOT NULL);
        CREATE TABLE trace_blocks (id INTEGER PRIMARY KEY, body BLOB NOT NULL);
        """

    /// The tables that were added with version 2. Some files of version 1 have the first two.
    ///
    /// - `cancels`: the cancelled ids, until they are older than the dedupe window. `number` is that of the first
    ///   message with the id. `sent` and `cancelled` are null until the messages are stopped. `parts` holds 32 bytes
    ///   for each message (``StoredCancelPart``), and 8 more if they are to Live Activities.
    /// - `receipts`: the ids of the notifications of stores, for ``LedgerRetention/receiptWindow``.
    /// - `gaps`: the numbers that another process may have assigned before this file was restored from a backup.
    static let laterTables = """
        CREATE TABLE IF NOT EXISTS cancels (
            number INTEGER PRIMARY KEY, time INTEGER NOT NULL, fingerprint INTEGER NOT NULL, app TEXT NOT NULL,
            id TEXT NOT NULL, client TEXT NOT NULL, sent INTEGER, cancelled INTEGER, parts BLOB NOT NULL);
        CREATE INDEX IF NOT EXISTS cancels_by_time ON cancels (time);
        CREATE TABLE IF NOT EXISTS receipts (
            app TEXT NOT NULL, id TEXT NOT NULL, time INTEGER NOT NULL, PRIMARY KEY (app, id)) WITHOUT ROWID;
        CREATE INDEX IF NOT EXISTS receipts_by_time ON receipts (time);
        CREATE TABLE IF NOT EXISTS gaps (first INTEGER PRIMARY KEY, last INTEGER NOT NULL, time INTEGER NOT NULL);
        """

    /// The columns that were added with version 3: the checksums of stored messages (``MessageChecksum``). They are null in
    /// rows of earlier versions.
    static let checksums = """
        ALTER TABLE messages ADD COLUMN sums BLOB;
        ALTER TABLE scheduled ADD COLUMN sum INTEGER;
        """

    /// Returns the version of a file; 0 if it has no tables.
    static func version(of connection: SQLiteConnection) throws(StoreError) -> Int64 {
        let version = try connection.prepare("PRAGMA user_version")
        defer { version.reset() }
        return try version.step() ? version.number(0) : 0
    }

    /// Reads the key of the hashes.
    static func identities(_ connection: SQLiteConnection) throws(StoreError) -> Identities {
        let find = try connection.prepare("SELECT value FROM meta WHERE name = 'secret'")
        defer { find.reset() }
        guard try find.step(), let identities = Identities(secret: find.blob(0)) else {
            throw StoreError(
                .damaged, "\(connection.path) is damaged: its secret is missing or invalid; restore it from a backup")
        }
        return identities
    }

    /// Makes the tables of a new file, or migrates those of an older one. A process that is killed meanwhile leaves the
    /// file as it was.
    ///
    /// - Parameter secret: The key of the hashes in a new file; nil for a random one.
    /// - Throws: ``StoreError/Code/newerVersion`` if a newer version wrote the file.
    static func prepare(_ connection: SQLiteConnection, secret: [UInt8]? = nil) throws(StoreError) {
        // Without a lock first: a file that is up to date is not written.
        if try isCurrent(connection) { return }
        try connection.run("BEGIN IMMEDIATE")
        do throws(StoreError) {
            // Another process may have done it meanwhile.
            if try !isCurrent(connection) { try bringForward(connection, secret) }
            try connection.run("COMMIT")
        } catch {
            try? connection.run("ROLLBACK")
            throw error
        }
    }

    private static func isCurrent(_ connection: SQLiteConnection) throws(StoreError) -> Bool {
        let found = try version(of: connection)
        if found == version { return true }
        guard (0..<version).contains(found) else {
            throw StoreError(
                .newerVersion,
                "\(connection.path) was written by a newer Carillon (file version \(found), this one knows \(version)); "
                    + "start the newer version, or restore a backup that this version made")
        }
        return false
    }

    private static func bringForward(_ connection: SQLiteConnection, _ secret: [UInt8]?) throws(StoreError) {
        var found = try version(of: connection)
        if found == 0 {
            try connection.run(tables)
            let add = try connection.prepare("INSERT INTO meta (name, value) VALUES ('secret', ?)")
            add.bind(1, secret ?? (0..<32).map { _ in UInt8.random(in: .min ... .max) })
            try add.run()
            found = 1
        }
        while found < version {
            try connection.run(migrations[found] ?? "")
            found += 1
        }
        try connection.run("PRAGMA user_version = \(version)")
    }
}

/// The columns of a row of the table `keys`.
extension KeyRow {
    /// Reads the current row of a statement that selects `number`, `time`, `accepted`, `ended` and `completed`.
    init(_ row: SQLiteStatement) {
        self.init(
            number: row.word(0),
            accepted: unsafe row.withBlob(2) { bytes in
                (0..<(bytes.count / AcceptedKey.size)).map { unsafe AcceptedKey(bytes, at: $0) }
            },
            ended: unsafe row.withBlob(3) { bytes in
                (0..<(bytes.count / EndedKey.size)).map { unsafe EndedKey(bytes, at: $0) }
            },
            completed: unsafe row.withBlob(4) { bytes in
                (0..<(bytes.count / 8)).map { unsafe bytes.word(at: 8 * $0) }
            })
    }
}
