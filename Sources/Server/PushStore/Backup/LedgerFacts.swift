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
        try? SQLiteConnection.reading(stopped: path) { (connection) throws(StoreError) in
            let version = try LedgerSchema.version(of: connection)
            return version > 0 ? try LogGap.newest(in: connection, version: version) : nil
        }
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

    /// Reads the facts of a file. It is not changed.
    package init(of path: String) throws(StoreError) {
        let connection = try SQLiteConnection(path, mode: .immutable)
        version = 1
        if try connection.has("active_object_migrations") {
            version += Int64(
                try LedgerFacts.count(connection.prepare("SELECT count(*) FROM active_object_migrations")))
        }
        if try connection.has("applied_marks") {
            applied = UInt64(
                try LedgerFacts.count(connection.prepare("SELECT coalesce(max(number), 0) FROM applied_marks")))
        }
        if try connection.has("devices") {
            devices = try LedgerFacts.count(connection.prepare("SELECT count(*) FROM devices"))
        }
        if try connection.has("api_key_rows") {
            apiKeys = try LedgerFacts.count(connection.prepare("SELECT count(*) FROM api_key_rows"))
        }
    }
}
