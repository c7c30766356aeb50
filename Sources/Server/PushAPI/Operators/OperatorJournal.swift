import PushLoop
import PushModel
import PushTransport

/// Writes the events of operators: the one place that does, for all endpoints.
package struct OperatorJournal: Sendable {
    /// The time for which an answer waits until its event is stored. While the disk fails, events wait in memory, and
    /// operators must still be able to act, until too many wait.
    private static let patience = Duration.seconds(2)

    package typealias Store = @Sendable ([OperatorChange], OperatorName, @escaping @Sendable () -> Void) -> Void

    private let store: Store
    private let fault: @Sendable () -> String?

    /// - Parameters:
    ///   - store: stores the events of changes, and calls the function when they are stored or cannot be.
    ///   - fault: returns why no event could be recorded now; nil while there is room.
    package init(store: @escaping Store, fault: @escaping @Sendable () -> String? = { nil }) {
        self.store = store
        self.fault = fault
    }

    /// Returns why a change by the caller could not be recorded now.
    func obstacle(to caller: Caller) -> String? { caller.allows(.operate) ? fault() : nil }

    /// Records what a request has changed, unless the caller is no operator: apps and producers change what is their
    /// own.
    func record(_ changes: [OperatorChange], by caller: Caller, of request: HTTP1Request) async {
        guard !changes.isEmpty, caller.allows(.operate) else { return }
        let author = OperatorName(caller, of: request)
        await withCheckedContinuation { continuation in
            let waiting = Locked<CheckedContinuation<Void, Never>?>(continuation)
            let goOn: @Sendable () -> Void = { waiting.withLock { exchange(&$0, with: nil) }?.resume() }
            let timer = Task {
                // If this throws, the events were stored in time.
                try await Task.sleep(for: Self.patience)
                goOn()
            }
            store(changes, author) {
                timer.cancel()
                goOn()
            }
        }
    }
}
