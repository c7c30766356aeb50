import PushLoop

/// Runs work until it ends or until SIGINT (Ctrl-C) or SIGTERM, which end it successfully.
enum Interruption {
    private struct State {
        var result: Result<ExitCode, any Error>?
        var waiter: CheckedContinuation<ExitCode, any Error>?
    }

    static func end(_ work: @escaping @Sendable () async throws -> ExitCode) async throws -> ExitCode {
        let state = Locked(State())
        let loop = EventLoop(name: "signals")
        let signals = await loop.run {
            LoopBound(
                SignalSource(on: loop, signals: [.interrupt, .terminate]) { _ in finish(state, with: .success(.done)) },
                on: loop
            )
        }
        // After an interruption nothing waits for this task, because the response to its request may take long.
        let task = Task {
            do {
                finish(state, with: .success(try await work()))
            } catch {
                finish(state, with: .failure(error))
            }
        }
        let result: Result<ExitCode, any Error>
        do {
            result = .success(
                try await withCheckedThrowingContinuation { continuation in
                    let known = state.withLock { state in
                        if state.result == nil { state.waiter = continuation }
                        return state.result
                    }
                    if let known { continuation.resume(with: known) }
                })
        } catch {
            result = .failure(error)
        }
        task.cancel()
        await signals.with { $0.cancel() }
        await loop.shutDown()
        return try result.get()
    }

    /// Sets the result and resumes the waiter; only the first call has an effect.
    private static func finish(_ state: Locked<State>, with result: Result<ExitCode, any Error>) {
        let waiter = state.withLock { state -> CheckedContinuation<ExitCode, any Error>? in
            guard state.result == nil else { return nil }
            state.result = result
            return state.waiter.take()
        }
        waiter?.resume(with: result)
    }
}
