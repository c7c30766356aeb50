import TestSupport
package import Testing

/// The bound on what a test waits for: a test whose ``Patience`` is exhausted fails with "wait ran out" as its first issue,
/// and is cancelled. `Tools/testing/run` repeats such a test once, alone.
package struct WaitTrait: TestTrait, SuiteTrait, TestScoping {
    package let isRecursive = true

    package func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? { testCase == nil ? nil : self }

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        try await withoutActuallyEscaping(function) { function in
            try await withThrowingTaskGroup(of: Bool.self) { group in
                group.addTask {
                    try await function()
                    return true
                }
                group.addTask {
                    var patience = Patience()
                    while !patience.isExhausted() { try await Task.sleep(for: .seconds(1)) }
                    return false
                }
                if try await group.next() == false {
                    Issue.record("wait ran out: the test has not ended", sourceLocation: test.sourceLocation)
                }
                group.cancelAll()
                // The test ends when its waits are cancelled; the watch ends with the error of its cancellation.
                while let result = await group.nextResult() {
                    if case .failure(let error) = result, !(error is CancellationError) { throw error }
                }
            }
        }
    }
}

extension Trait where Self == WaitTrait {
    /// For each test that waits: there is no other bound on its time.
    package static var waits: Self { WaitTrait() }
}
