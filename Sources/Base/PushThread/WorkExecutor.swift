/// A serial executor that also accepts closures: an event loop, or a thread for blocking work.
package protocol WorkExecutor: SerialExecutor {
    /// Runs `work` after all work that was enqueued before it.
    func execute(_ work: @escaping @Sendable () -> Void)
}

extension WorkExecutor {
    /// Runs `work` on the executor and returns its result.
    package func run<Result: Sendable, Failure: Error>(
        _ work: @escaping @Sendable () throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        let outcome: Swift.Result<Result, Failure> = await withCheckedContinuation { continuation in
            execute {
                do throws(Failure) {
                    continuation.resume(returning: .success(try work()))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
        return try outcome.get()
    }
}
