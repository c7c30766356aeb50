import PushSQLite
import PushThread

/// The owner of one connection. It runs on its own thread, where it may block.
actor ConnectionActor {
    nonisolated let executor: BlockingExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }
    private var connection: Connection?
    private let interruption = Interruption()
    private let name: String
    private let maxWaitingCalls: Int
    /// The number of calls in the queue, including the one that runs.
    private let present = Locked(0)

    init(name: String, maxWaitingCalls: Int) {
        executor = BlockingExecutor(name: name)
        self.name = name
        self.maxWaitingCalls = max(0, maxWaitingCalls)
    }

    func open(path: String, mode: DatabaseHandle.Mode, setUp: @Sendable (Connection) throws -> Void) throws {
        let connection = try Connection(path: path, mode: mode, interruption: interruption)
        try setUp(connection)
        self.connection = connection
    }

    func close() {
        connection?.close()
        connection = nil
    }

    /// Runs `body` with the connection after the calls that came before. The result is `Sendable`, so it cannot contain
    /// the connection.
    ///
    /// Throws `busy` if too many calls are waiting, and `CancellationError` if the task is cancelled: at once while the
    /// call waits; while it runs, as soon as the current statement has stopped.
    nonisolated func perform<Result: Sendable>(
        _ body: @escaping @Sendable (Connection) throws -> Result
    ) async throws -> Result {
        let turn = Turn<Result>()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                guard turn.wait(continuation) else { return continuation.resume(throwing: CancellationError()) }
                guard enter() else {
                    turn.begin()?.resume(throwing: tooManyWaitingCalls())
                    return
                }
                executor.execute { self.assumeIsolated { $0.run(body, in: turn) } }
            }
        } onCancel: {
            turn.cancel()
            interruption.cancel(ObjectIdentifier(turn))
        }
    }

    private func run<Result: Sendable>(_ body: @Sendable (Connection) throws -> Result, in turn: Turn<Result>) {
        defer { present.withLock { $0 -= 1 } }
        guard let connection else {
            turn.begin()?.resume(throwing: ActiveObjectError(.notOpen, message: "the database has been closed"))
            return
        }
        // The interruption must know the call before the turn begins, so that a cancellation has an effect at any time.
        interruption.begin(ObjectIdentifier(turn), interrupter: connection.database.interrupter)
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
            guard present <= maxWaitingCalls else { return false }
            present += 1
            return true
        }
    }

    private nonisolated func tooManyWaitingCalls() -> ActiveObjectError {
        ActiveObjectError(
            .busy,
            message: """
                \(maxWaitingCalls) calls are already waiting for the database's \(name); retry later, do more in one \
                call, or raise `maxWaitingCalls`
                """)
    }
}
