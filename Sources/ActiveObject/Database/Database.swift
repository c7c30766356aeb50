import PushThread

/// A database file: one connection that writes and a few that read, each on a thread of its own.
///
/// `write` is a transaction: it is there whole when `write` returns, or not at all. `read` sees the file as it was when
/// it began, however long it takes and whatever is written meanwhile. Both give a closure that runs on the connection's
/// thread; what it is handed cannot leave it, and the compiler sees to that.
public final class Database: Sendable {
    /// The name under which records look for their database unless their type says another.
    public static let mainName = "main"

    /// As it was given to `open`.
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
    /// Close it when it is no longer needed. One without a name that is dropped closes itself, at some later time.
    ///
    /// - Parameter name: records use "main" unless they say otherwise. Nil: only who holds the database uses it.
    public static func open(
        _ path: String, name: String? = mainName, options: Options = Options()
    ) async throws -> Database {
        // Before anything is made on disk for nothing.
        if let name { try OpenDatabases.check(isFree: name) }
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
        writer = ConnectionActor(name: "db-writer", maximumWaiting: options.maximumWaiting)
        // A database in memory belongs to one connection.
        let count = path == ":memory:" ? 0 : min(max(0, options.readers), 64)
        readers = (0..<count).map {
            ConnectionActor(name: "db-reader-\($0)", maximumWaiting: options.maximumWaiting)
        }
        load = Locked(Array(repeating: 0, count: count))
    }

    private func openConnections() async throws {
        let (options, feed) = (options, feed)
        let readMode: Connection.Mode =
            !options.isReadOnly ? .readWrite(creates: false) : DatabaseFile.isImmutable(path) ? .immutable : .readOnly
        try await writer.open(path: path, mode: options.isReadOnly ? readMode : .readWrite(creates: options.creates)) {
            if !options.isReadOnly { try $0.mustBeWritable() }
            try $0.setUp(options)
            if !options.isReadOnly { try $0.useLog(options) }
            try $0.migrate(options.migrations)
            if !options.isReadOnly { $0.recorder = ChangeRecorder(feed: feed) }
        }
        for reader in readers {
            try await reader.open(path: path, mode: readMode) {
                try $0.setUp(options)
                try $0.control("PRAGMA query_only = 1")
            }
        }
    }

    deinit {
        guard gate.beginClosing() else { return }
        Self.end(readers, writer, feed)
    }

    /// Nobody waits for the threads of a database that was dropped; nobody calls them either.
    private static func end(_ readers: [ConnectionActor], _ writer: ConnectionActor, _ feed: ChangeFeed) {
        Task.detached { await close(readers, writer, feed) }
    }

    /// Waits for the calls that run or wait, copies the log into the file and ends the threads. Calls that come later
    /// throw `notOpen`. Whoever closes, once or at the same time as others, returns when all that is done.
    public func close() async {
        await gate.close {
            OpenDatabases.remove(self)
            await Self.close(readers, writer, feed)
        }
    }

    private static func close(_ readers: [ConnectionActor], _ writer: ConnectionActor, _ feed: ChangeFeed) async {
        // The writer last: the last connection to close copies the log and removes it.
        for connection in readers + [writer] {
            await connection.close()
            await connection.executor.shutDown()
        }
        feed.finish()
    }

    // MARK: Work

    /// Reads, in any number of statements, one state of the file: the one of the moment when `body` begins.
    ///
    /// `body` may run again, if it is the first to read a type whose table has to be made. If the task is cancelled,
    /// the statement that runs is stopped and `CancellationError` thrown.
    public func read<Result: Sendable>(
        _ body: @escaping @Sendable (Snapshot) throws -> Result
    ) async throws -> Result {
        try await onReader { connection, schema in
            try connection.beginReading()
            // A transaction that has only read has nothing to lose: how it ends makes no difference.
            defer { connection.rollBack() }
            return try Self.lend(connection, schema, to: body)
        }
    }

    /// One statement that reads: it needs no transaction to see one state.
    func readOnce<Result: Sendable>(
        _ body: @escaping @Sendable (Snapshot) throws -> Result
    ) async throws -> Result {
        try await onReader { try Self.lend($0, $1, to: body) }
    }

    private static func lend<Result>(
        _ connection: Connection, _ schema: SchemaState, to body: (Snapshot) throws -> Result
    ) throws -> Result {
        let snapshot = Snapshot(connection: connection, schema: schema)
        defer { snapshot.end() }
        let result: Result
        do {
            result = try body(snapshot)
        } catch {
            snapshot.doubtTable(after: error)
            throw error
        }
        if let needed = snapshot.needed { throw needed }
        return result
    }

    /// Runs a transaction. If `write` returns, all of it was done; if it throws, nothing of it was.
    ///
    /// If the task is cancelled, the statement that runs is stopped, the transaction undone and `CancellationError`
    /// thrown. A transaction that has begun to commit is not cancelled any more.
    public func write<Result: Sendable>(
        _ body: @escaping @Sendable (Transaction) throws -> Result
    ) async throws -> Result {
        try await onWriter { connection, schema in try Transaction.run(on: connection, schema: schema, body) }
    }

    /// Runs `body` on the writer, and then sees to the log.
    private func onWriter<Result: Sendable>(
        _ body: @escaping @Sendable (Connection, SchemaState) throws -> Result
    ) async throws -> Result {
        guard !options.isReadOnly else {
            throw ActiveObjectError(.readOnly, "\(path) is not to be written: it was opened with `isReadOnly`")
        }
        let (schema, limit) = (schema, options.checkpointPages)
        return try await inside {
            try await writer.perform { connection in
                let result = try body(connection, schema)
                connection.tendLog(limit: limit)
                return result
            }
        }
    }

    /// On the writer's connection, whatever it may do, outside of any transaction.
    func inspect<Result: Sendable>(
        _ body: @escaping @Sendable (Connection) throws -> Result
    ) async throws -> Result {
        try await inside { try await writer.perform(body) }
    }

    func onReader<Result: Sendable>(
        _ body: @escaping @Sendable (Connection, SchemaState) throws -> Result
    ) async throws -> Result {
        let schema = schema
        return try await inside {
            var isSecondTry = false
            while true {
                let index = leastLoadedReader()
                defer { if let index { load.withLock { $0[index] -= 1 } } }
                do {
                    guard let index else {
                        return try await writer.perform { connection in
                            try connection.readingOnly { try body(connection, schema) }
                        }
                    }
                    return try await readers[index].perform { try body($0, schema) }
                } catch let needed as SchemaNeeded {
                    // A reader cannot make a table. The writer does, and the reading begins anew.
                    try await writer.perform { connection in
                        try Transaction.run(on: connection, schema: schema) { try needed.prepare($0) }
                    }
                } catch let error as ActiveObjectError where error.saysOfMissingTable && !isSecondTry {
                    // The table may have been made, or have gained the column, since this state of the file was picked.
                    isSecondTry = true
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

    /// On the writer, outside of a transaction.
    func maintain<Result: Sendable>(
        _ body: @escaping @Sendable (Connection) throws -> Result
    ) async throws -> Result {
        try await onWriter { connection, _ in try body(connection) }
    }
}
