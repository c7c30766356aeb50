import PushSQLite
import PushThread

/// A database file, opened with one connection that writes and several that read, each on its own thread.
///
/// ``write(_:)`` runs a transaction: all of it is in the file when `write` returns, or none of it. ``read(_:)`` sees
/// the file as it was when the read began, regardless of its duration and of later writes. Both run a closure on the
/// thread of the connection. The compiler prevents the ``Snapshot`` or ``Transaction`` from leaving the closure.
public final class Database: Sendable {
    /// The name under which record types look up their database, unless they declare another name.
    public static let mainName = "main"

    /// The path that was passed to ``open(_:name:options:)``.
    public let path: String
    /// The options with which the database was opened.
    public let options: Options
    let schema = SchemaState()
    let feed = ChangeFeed()
    private let writer: ConnectionActor
    private let readers: [ConnectionActor]
    /// The number of outstanding calls of each reader. A new call goes to the reader with the fewest.
    private let load: Locked<[Int]>
    private let gate = Gate()

    // MARK: Opening and closing

    /// Opens a file, or `":memory:"`, and registers it under a name by which records find it.
    ///
    /// Call ``close()`` when it is no longer needed. A database without a name closes itself some time after the last
    /// reference to it is gone.
    ///
    /// - Parameters:
    ///   - path: The path of the file, or `":memory:"` for a database in memory.
    ///   - name: The name of the database for record types; they use ``mainName`` unless they declare another name.
    ///     With nil, only callers that hold the database can use it.
    ///   - options: The settings of the database.
    /// - Returns: The open database, after all migrations have run.
    /// - Throws: ``ActiveObjectError``: `cannotOpen` if the name is in use or the file cannot be opened, `corrupt` if
    ///   it is not a database, `badMigration` if a migration fails.
    public static func open(
        _ path: String, name: String? = mainName, options: Options = Options()
    ) async throws -> Database {
        // Check first, so that no file is created in vain.
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
        writer = ConnectionActor(name: "db-writer", maxWaitingCalls: options.maxWaitingCalls)
        // A database in memory exists for one connection only.
        let count = path == ":memory:" ? 0 : min(max(0, options.readers), 64)
        readers = (0..<count).map {
            ConnectionActor(name: "db-reader-\($0)", maxWaitingCalls: options.maxWaitingCalls)
        }
        load = Locked(Array(repeating: 0, count: count))
    }

    private func openConnections() async throws {
        let (options, feed) = (options, feed)
        let readMode: DatabaseHandle.Mode =
            !options.isReadOnly ? .readWrite(creates: false) : DatabaseFile.isImmutable(path) ? .immutable : .readOnly
        try await writer.open(path: path, mode: options.isReadOnly ? readMode : .readWrite(creates: options.creates)) {
            if !options.isReadOnly { try $0.checkIsWritable() }
            try $0.setUp(options)
            if !options.isReadOnly { try $0.turnOnWriteAheadLog(options) }
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
        Self.end(readers: readers, writer: writer, feed: feed)
    }

    /// Closes the connections of a database that was released. There are no callers left, and nothing waits for this.
    private static func end(readers: [ConnectionActor], writer: ConnectionActor, feed: ChangeFeed) {
        Task.detached { await close(readers: readers, writer: writer, feed: feed) }
    }

    /// Closes the database: waits for calls that run or wait, copies the log into the file, and ends the threads.
    ///
    /// Later calls throw ``ActiveObjectError/Code-swift.struct/notOpen``. If several callers close the database, each
    /// returns when it is closed.
    public func close() async {
        await gate.close {
            OpenDatabases.remove(self)
            await Self.close(readers: readers, writer: writer, feed: feed)
        }
    }

    private static func close(readers: [ConnectionActor], writer: ConnectionActor, feed: ChangeFeed) async {
        // The writer closes last, because the last connection copies the log into the file and removes it.
        for connection in readers + [writer] {
            await connection.close()
            await connection.executor.shutDown()
        }
        feed.finish()
    }

    // MARK: Reading and writing

    /// Runs `body` with one state of the file: the state at the moment when `body` begins.
    ///
    /// `body` may run twice if it is the first to use a record type whose table must be created.
    ///
    /// - Returns: The result of `body`.
    /// - Throws: The error of `body`, or `CancellationError` if the task is cancelled, which also stops the current
    ///   statement.
    public func read<Result: Sendable>(
        _ body: @escaping @Sendable (Snapshot) throws -> Result
    ) async throws -> Result {
        try await onReader { connection, schema in
            try connection.beginReading()
            // A transaction that only read has no changes, so it can always be rolled back.
            defer { connection.rollBack() }
            return try Self.lend(connection, schema: schema, to: body)
        }
    }

    /// Runs one statement that reads. A single statement sees one state of the file without a transaction.
    func readOnce<Result: Sendable>(
        _ body: @escaping @Sendable (Snapshot) throws -> Result
    ) async throws -> Result {
        try await onReader { try Self.lend($0, schema: $1, to: body) }
    }

    private static func lend<Result>(
        _ connection: Connection, schema: SchemaState, to body: (Snapshot) throws -> Result
    ) throws -> Result {
        let snapshot = Snapshot(connection: connection, schema: schema)
        defer { snapshot.end() }
        let result: Result
        do {
            result = try body(snapshot)
        } catch {
            snapshot.recheckTable(after: error)
            throw error
        }
        if let needed = snapshot.needed { throw needed }
        return result
    }

    /// Runs a transaction. If `write` returns, all changes are in the file; if it throws, none are.
    ///
    /// - Returns: The result of `body`.
    /// - Throws: The error of `body`, or `CancellationError` if the task is cancelled, which also stops the current
    ///   statement and rolls back. A transaction that has begun to commit can no longer be cancelled.
    public func write<Result: Sendable>(
        _ body: @escaping @Sendable (Transaction) throws -> Result
    ) async throws -> Result {
        try await onWriter { connection, schema in try Transaction.run(on: connection, schema: schema, body: body) }
    }

    /// Runs `body` on the writer, and then copies the log into the file if it is long.
    private func onWriter<Result: Sendable>(
        _ body: @escaping @Sendable (Connection, SchemaState) throws -> Result
    ) async throws -> Result {
        guard !options.isReadOnly else {
            throw ActiveObjectError(.readOnly, message: "\(path) cannot be written: it was opened with `isReadOnly`")
        }
        let (schema, limit) = (schema, options.checkpointPages)
        return try await inside {
            try await writer.perform { connection in
                let result = try body(connection, schema)
                connection.checkpointIfDue(limit: limit)
                return result
            }
        }
    }

    /// Runs `body` on the writer's connection outside of a transaction, also in a read-only database.
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
                    // A reader cannot create a table. The writer creates it, and the read starts again.
                    try await writer.perform { connection in
                        try Transaction.run(on: connection, schema: schema) { try needed.prepare($0) }
                    }
                } catch let error as ActiveObjectError where error.isMissingName && !isSecondTry {
                    // The table or column may have been created after the reader's state of the file. Read the new
                    // state once.
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
        guard gate.enter() else { throw ActiveObjectError(.notOpen, message: "the database \(path) has been closed") }
        defer { gate.leave() }
        return try await body()
    }

    /// Runs `body` on the writer's connection outside of a transaction.
    func maintain<Result: Sendable>(
        _ body: @escaping @Sendable (Connection) throws -> Result
    ) async throws -> Result {
        try await onWriter { connection, _ in try body(connection) }
    }
}
