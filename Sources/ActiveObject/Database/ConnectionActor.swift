import PushThread

/// The only owner of a connection. It runs on a thread of its own, where it may block.
actor ConnectionActor {
    nonisolated let executor: BlockingExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }
    private var connection: Connection?
    private let interruption = Interruption()
    private let name: String
    private let maximumWaiting: Int
    /// Calls in the queue, and the one that runs.
    private let present = Locked(0)

    init(name: String, maximumWaiting: Int) {
        executor = BlockingExecutor(name: name)
        self.name = name
        self.maximumWaiting = max(0, maximumWaiting)
    }

    func open(path: String, mode: Connection.Mode, setUp: @Sendable (Connection) throws -> Void) throws {
        let connection = try Connection(path: path, mode: mode, interruption: interruption)
        try setUp(connection)
        self.connection = connection
    }

    func close() {
        connection?.close()
        connection = nil
    }

    /// Runs `body` with the connection, after those who came before. What it returns is `Sendable`, so the connection
    /// is not among it.
    ///
    /// Throws `busy` if too many wait already, `CancellationError` if the task is cancelled: at once while it waits;
    /// while it runs, when the statement that runs has stopped.
    nonisolated func perform<Result: Sendable>(
        _ body: @escaping @Sendable (Connection) throws -> Result
    ) async throws -> Result {
        let turn = Turn<Result>()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                guard turn.wait(continuation) else { return continuation.resume(throwing: CancellationError()) }
                guard enter() else {
                    turn.begin()?.resume(throwing: tooManyWait())
                    return
                }
                executor.execute { self.assumeIsolated { $0.run(turn, body) } }
            }
        } onCancel: {
            turn.cancel()
            interruption.cancel(ObjectIdentifier(turn))
        }
    }

    private func run<Result: Sendable>(_ turn: Turn<Result>, _ body: @Sendable (Connection) throws -> Result) {
        defer { present.withLock { $0 -= 1 } }
        guard let connection else {
            turn.begin()?.resume(throwing: ActiveObjectError(.notOpen, "the database has been closed"))
            return
        }
        // First it is known who runs: a cancellation either ends the turn or interrupts.
        interruption.begin(ObjectIdentifier(turn), connection.interrupter)
        guard let continuation = turn.begin() else {
            _ = interruption.end()
            return
        }
        let result = Swift.Result { try body(connection) }
        let wasCancelled = interruption.end()
        if wasCancelled, case .failure(let error as ActiveObjectError) = result,
            error.code == .interrupted || error.code == .busy
        {
            continuation.resume(throwing: CancellationError())
        } else {
            continuation.resume(with: result)
        }
    }

    private nonisolated func enter() -> Bool {
        present.withLock { present in
            guard present <= maximumWaiting else { return false }
            present += 1
            return true
        }
    }

    private nonisolated func tooManyWait() -> ActiveObjectError {
        ActiveObjectError(
            .busy,
            """
            \(maximumWaiting) calls wait for the database's \(name) already; try again later, or do more in one call; \
            the limit is `maximumWaiting`
            """)
    }
}
