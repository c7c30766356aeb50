/// A serial executor that also takes closures: an event loop, or a thread for work that blocks.
package protocol WorkExecutor: SerialExecutor {
    /// Runs `work` after what was enqueued before it.
    func execute(_ work: @escaping @Sendable () -> Void)
}

extension WorkExecutor {
    /// Runs `work` there and brings back what it returns.
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
