import PushLoop

/// The started services of a server, which are ended in reverse order.
///
/// Each service is added right after its start, so that a start that fails halfway ends exactly the services that it
/// has started, in the same order as a later stop.
final class ServiceStack: Sendable {
    /// Ends one service, waiting at most `deadline` for work in flight.
    typealias End = @Sendable (_ deadline: Duration) async -> Void

    private let ends = Locked<[End]>([])

    func add(_ end: @escaping End) { ends.withLock { $0.append(end) } }

    /// Ends all services, the one that was added last first. A second call ends only services that were added since.
    func end(within deadline: Duration) async {
        while let end = ends.withLock({ $0.popLast() }) { await end(deadline) }
    }
}
