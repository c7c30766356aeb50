#if canImport(FoundationNetworking)
import Foundation

/// The delegate queue of a session on Linux: it runs each operation at once, where it is added.
///
/// URLSession on Linux reads from the network as fast as it can and queues the data for its delegate, so that a slow
/// disk would fill the memory. Run at once, the delegate sets the pace. It also makes the order of a redirect and a
/// cancellation certain; see ``SessionTransport``.
final class InlineQueue: OperationQueue, @unchecked Sendable {
    // The conformance is inherited: the class has no state.
    override func addOperation(_ block: @escaping @Sendable () -> Void) { block() }
}
#endif
