import PushThread

/// The only owner of a connection. It runs on a thread of its own, where it may block.
actor ConnectionActor {
    nonisolated let executor: BlockingExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }
    private var connection: Connection?
    /// Which call runs, and how to stop it. A call that is over must not stop the next one.
    private let running = Locked<(call: UInt64, interrupter: Connection.Interrupter)?>(nil)
    private let calls = Locked<UInt64>(0)

    init(name: String) {
        executor = BlockingExecutor(name: name)
    }

    func open(path: String, mode: Connection.Mode, setUp: @Sendable (Connection) throws -> Void) throws {
        let connection = try Connection(path: path, mode: mode)
        try setUp(connection)
        self.connection = connection
    }

    func close() {
        connection?.close()
        connection = nil
    }

    /// Runs `body` with the connection. What it returns is `Sendable`, so the connection is not among it.
    nonisolated func perform<Result: Sendable>(
        _ body: @escaping @Sendable (Connection) throws -> Result
    ) async throws -> Result {
        let call = calls.withLock { calls in
            calls += 1
            return calls
        }
        return try await withTaskCancellationHandler {
            try await run(call, body)
        } onCancel: {
            running.withLock { running in
                if let running, running.call == call { running.interrupter.interrupt() }
            }
        }
    }

    private func run<Result: Sendable>(
        _ call: UInt64, _ body: @Sendable (Connection) throws -> Result
    ) throws -> Result {
        guard let connection else { throw ActiveObjectError(.notOpen, "the database has been closed") }
        running.withLock { $0 = (call, connection.interrupter) }
        defer { running.withLock { $0 = nil } }
        // After it is known who runs: a cancellation is either seen here or interrupts.
        try Task.checkCancellation()
        return try body(connection)
    }
}
