package import PushLoop
import Synchronization

/// A subscription to the tokens of a key or an account. Only what it was made by ends it; releasing it does not.
package final class TokenSubscription<Key: Sendable, Failure: Error>: Sendable {
    package let key: Key
    private let loop: EventLoop
    private let take: @Sendable (Result<ProviderToken, Failure>) -> Void
    private let cancelled = Atomic(false)

    package init(key: Key, loop: EventLoop, take: @escaping @Sendable (Result<ProviderToken, Failure>) -> Void) {
        self.key = key
        self.loop = loop
        self.take = take
    }

    package var isCancelled: Bool { cancelled.load(ordering: .relaxed) }

    /// If called on the subscription's loop, no token is passed from this moment on.
    package func cancel() { cancelled.store(true, ordering: .relaxed) }

    package func deliver(_ result: Result<ProviderToken, Failure>) {
        // A gateway whose loop has stopped needs no token.
        loop.executeUnlessStopped { [self] in
            if !isCancelled { take(result) }
        }
    }
}

extension TokenSubscription: CustomReflectable {
    package var customMirror: Mirror { Mirror(self, children: ["key": key], displayStyle: .class) }
}
