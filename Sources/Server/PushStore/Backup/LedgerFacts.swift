import Glibc
import PushLogic

/// What a ledger that nobody writes contains, as a backup records it.
package struct LedgerFacts: Sendable, Equatable {
    /// The version of the file.
    package var version: Int64 = 0
    /// The number of the newest event.
    package var newest: UInt64 = 0
    package var events = 0
    package var scheduled = 0
    /// The messages whose ids are remembered.
    package var messageIDs = 0

    /// The newest version of the file that this program reads.
    package static var knownVersion: Int64 { LedgerSchema.version }

    /// Reads the facts of a file. It is not changed.
    package init(of path: String) throws(StoreError) {
        let connection = try SQLiteConnection(path, mode: .immutable)
        version = try LedgerSchema.version(of: connection)
        guard version > 0 else {
            throw StoreError(.damaged, "\(path) is not a ledger of Carillon: it has no version")
        }
        newest = try LogGap.newest(in: connection, version: version)
        events = try Self.count(connection.prepare("SELECT coalesce(sum(count), 0) FROM log"))
        scheduled = try Self.count(connection.prepare("SELECT count(*) FROM scheduled"))
        let keyBytes = try Self.count(connection.prepare("SELECT coalesce(sum(length(accepted)), 0) FROM keys"))
        messageIDs = keyBytes / AcceptedKey.size
    }

    /// Returns the newest number of a ledger that no process uses and that may be damaged; nil if it cannot be read. The
    /// directory is not changed.
    package static func newest(ofStopped path: String) -> UInt64? {
        var log = stat()
        let hasLog = unsafe stat(path + "-wal", &log) == 0 && log.st_size > 0
        // To read the log of a process that was killed, SQLite makes a file of shared memory.
        let memory = path + "-shm"
        let isNew = unsafe hasLog && access(memory, F_OK) != 0
        defer { if isNew { unsafe _ = unlink(memory) } }
        guard let connection = try? SQLiteConnection(path, mode: hasLog ? .readOnly : .immutable) else { return nil }
        connection.keepLogAtClose()
        guard let version = try? LedgerSchema.version(of: connection), version > 0 else { return nil }
        return try? LogGap.newest(in: connection, version: version)
    }

    fileprivate static func count(_ statement: SQLiteStatement) throws(StoreError) -> Int {
        defer { statement.reset() }
        return try statement.step() ? max(0, Int(clamping: statement.number(0))) : 0
    }
}

/// What a registry that nobody writes contains, as a backup records it.
package struct RegistryFacts: Sendable, Equatable {
    package var version: Int64 = 0
    /// The number of the last event of the ledger that the registry has applied.
    package var applied: UInt64 = 0
    package var devices = 0
    package var apiKeys = 0

    /// The newest version of the file that this program reads.
    package static var knownVersion: Int64 { RegistrySchema.version }

    package init() {}

    /// Returns the number of the last event that a registry has applied, and whether it has devices. Both are proof of a
    /// ledger beside it. The write-ahead log is not read, so that the file may be behind.
    package static func history(of path: String) -> (applied: UInt64, hasDevices: Bool) {
        guard unsafe access(path, R_OK) == 0, let connection = try? SQLiteConnection(path, mode: .immutable) else {
            return (0, false)
        }
        let devices = try? connection.prepare("SELECT 1 FROM devices LIMIT 1")
        let marks = try? connection.prepare("SELECT coalesce(max(number), 0) FROM applied_marks")
        defer {
            devices?.reset()
            marks?.reset()
        }
        let hasDevices = (try? devices?.step()) ?? false
        let hasMark = (try? marks?.step()) ?? false
        return (hasMark ? marks?.word(0) ?? 0 : 0, hasDevices)
    }

    /// Reads the facts of a file. It is not changed.
    package init(of path: String) throws(StoreError) {
        let connection = try SQLiteConnection(path, mode: .immutable)
        // A table is made at its first use.
        func has(_ table: String) throws(StoreError) -> Bool {
            let find = try connection.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?")
            find.bind(1, table)
            defer { find.reset() }
            return try find.step()
        }
        version = 1
        if try has("active_object_migrations") {
            version += Int64(
                try LedgerFacts.count(connection.prepare("SELECT count(*) FROM active_object_migrations")))
        }
        if try has("applied_marks") {
            applied = UInt64(
                try LedgerFacts.count(connection.prepare("SELECT coalesce(max(number), 0) FROM applied_marks")))
        }
        if try has("devices") { devices = try LedgerFacts.count(connection.prepare("SELECT count(*) FROM devices")) }
        if try has("api_key_rows") {
            apiKeys = try LedgerFacts.count(connection.prepare("SELECT count(*) FROM api_key_rows"))
        }
    }
}
