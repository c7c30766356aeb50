import PushThread

/// A database file: one connection that writes and a few that read, each on a thread of its own.
///
/// `write` is a transaction: it is there whole when `write` returns, or not at all. `read` sees the file as it was when
/// it began, however long it takes and whatever is written meanwhile. Both give a closure that runs on the connection's
/// thread; what it is handed cannot leave it, and the compiler sees to that.
public final class Database: Sendable {
    public static let mainName = "main"

    public let path: String
    public let options: Options
    let schema = SchemaState()
    let feed = ChangeFeed()
    private let writer: ConnectionActor
    private let readers: [ConnectionActor]
    /// Calls that each reader has to answer, to pick the one with the fewest.
    private let load: Locked<[Int]>
    private let gate = Gate()

    // MARK: Opening and closing

    /// Opens a file, or `":memory:"`, and gives it a name by which records find it.
    ///
    /// - Parameter name: records use "main" unless they say otherwise. Nil: only who holds the database uses it.
    public static func open(
        _ path: String, name: String? = mainName, options: Options = Options()
    ) async throws -> Database {
        let database = Database(path: path, options: options)
        do {
            try await database.openConnections()
            if let name { try OpenDatabases.add(database, as: name) }
        } catch {
            await database.close()
            throw error
        }
        return database
    }

    private init(path: String, options: Options) {
        self.path = path
        self.options = options
        writer = ConnectionActor(name: "db-writer")
        // A database in memory belongs to one connection.
        let count = path == ":memory:" ? 0 : max(0, options.readers)
        readers = (0..<count).map { ConnectionActor(name: "db-reader-\($0)") }
        load = Locked(Array(repeating: 0, count: count))
    }

    private func openConnections() async throws {
        let (options, feed) = (options, feed)
        let mode: Connection.Mode = options.isReadOnly ? .readOnly : .readWrite(creates: options.creates)
        try await writer.open(path: path, mode: mode) { connection in
            try connection.setUp(options)
            if !options.isReadOnly { try connection.run("PRAGMA journal_mode = WAL") }
            try connection.migrate(options.migrations)
            if !options.isReadOnly { connection.recorder = ChangeRecorder(feed: feed) }
        }
        for reader in readers {
            try await reader.open(path: path, mode: options.isReadOnly ? .readOnly : .readWrite(creates: false)) {
                try $0.setUp(options)
                try $0.run("PRAGMA query_only = 1")
            }
        }
    }

    /// Waits for what runs, copies the log into the file and ends the threads. Calls that come later throw `notOpen`.
    public func close() async {
        guard await gate.close() else { return }
        OpenDatabases.remove(self)
        // The writer last: the last connection to close copies the log and removes it.
        for connection in readers + [writer] {
            await connection.close()
            await connection.executor.shutDown()
        }
        feed.finish()
    }

    // MARK: Work

    /// Reads, in any number of statements, one state of the file.
    public func read<Result: Sendable>(
        _ body: @escaping @Sendable (Snapshot) throws -> Result
    ) async throws -> Result {
        try await onReader { connection, schema in
            let snapshot = Snapshot(connection: connection, schema: schema)
            try connection.withStatement("BEGIN") { try $0.run() }
            // A transaction that has only read has nothing to lose: how it ends makes no difference.
            defer { try? connection.withStatement("ROLLBACK") { try $0.run() } }
            return try body(snapshot)
        }
    }

    /// One statement that reads: it needs no transaction to see one state.
    func readOnce<Result: Sendable>(
        _ body: @escaping @Sendable (Snapshot) throws -> Result
    ) async throws -> Result {
        try await onReader { try body(Snapshot(connection: $0, schema: $1)) }
    }

    /// Runs a transaction. If `body` throws, nothing of it was done.
    public func write<Result: Sendable>(
        _ body: @escaping @Sendable (Transaction) throws -> Result
    ) async throws -> Result {
        let schema = schema
        return try await inside {
            try await writer.perform { try Transaction.run(on: $0, schema: schema, body) }
        }
    }

    /// On the writer's connection, outside of any transaction.
    func onWriter<Result: Sendable>(
        _ body: @escaping @Sendable (Connection) throws -> Result
    ) async throws -> Result {
        try await inside { try await writer.perform(body) }
    }

    private func onReader<Result: Sendable>(
        _ body: @escaping @Sendable (Connection, SchemaState) throws -> Result
    ) async throws -> Result {
        let schema = schema
        return try await inside {
            while true {
                let index = leastLoadedReader()
                defer { if let index { load.withLock { $0[index] -= 1 } } }
                do {
                    return try await (index.map { readers[$0] } ?? writer).perform { try body($0, schema) }
                } catch let needed as SchemaNeeded {
                    // A reader cannot make a table. The writer does, and the reading begins anew.
                    try await writer.perform { connection in
                        try Transaction.run(on: connection, schema: schema) { try needed.prepare($0) }
                    }
                }
            }
        }
    }

    private func leastLoadedReader() -> Int? {
        load.withLock { load in
            guard let index = load.indices.min(by: { load[$0] < load[$1] }) else { return nil }
            load[index] += 1
            return index
        }
    }

    private func inside<Result>(_ body: () async throws -> Result) async throws -> Result {
        guard gate.enter() else { throw ActiveObjectError(.notOpen, "the database \(path) has been closed") }
        defer { gate.leave() }
        return try await body()
    }
}

extension Connection {
    /// What holds for readers and the writer alike.
    fileprivate func setUp(_ options: Database.Options) throws(ActiveObjectError) {
        let milliseconds =
            options.busyTimeout.components.seconds * 1000
            + options.busyTimeout.components.attoseconds / 1_000_000_000_000_000
        setBusyTimeout(milliseconds: Int32(clamping: milliseconds))
        try run("PRAGMA synchronous = \(options.durability == .full ? "FULL" : "NORMAL")")
        try run("PRAGMA cache_size = -\(max(64, options.cacheBytes / 1024))")
        try run("PRAGMA foreign_keys = 1")
        try run("PRAGMA wal_autocheckpoint = \(max(0, options.checkpointPages))")
    }
}

/// Which databases are open, by the names that records use.
enum OpenDatabases {
    private static let databases = Locked<[String: Database]>([:])

    static func add(_ database: Database, as name: String) throws(ActiveObjectError) {
        let isFree = databases.withLock { databases in
            guard databases[name] == nil else { return false }
            databases[name] = database
            return true
        }
        guard isFree else {
            throw ActiveObjectError(
                .cannotOpen, "a database named \(name) is open already: close it first, or give this one another name")
        }
    }

    static func remove(_ database: Database) {
        databases.withLock { databases in databases = databases.filter { $0.value !== database } }
    }

    static func named(_ name: String) throws(ActiveObjectError) -> Database {
        guard let database = databases.withLock({ $0[name] }) else {
            throw ActiveObjectError(.notOpen, "no database named \(name) is open: call Database.open first")
        }
        return database
    }
}
