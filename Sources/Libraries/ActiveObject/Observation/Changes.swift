/// The changes of committed transactions, one element per transaction, in the order of the commits; see
/// ``ActiveRecord/changes(in:buffering:)``.
///
/// The sequence starts when it is created, not when a loop first waits for it: it contains every commit from then on.
/// It ends when the waiting task is cancelled or the database is closed. Use it in one loop; two loops would share its
/// elements.
///
/// An observer never blocks the writer. Elements that it has not taken yet are kept up to the limit that is given when
/// the sequence is created.
public struct Changes<Element: Sendable>: AsyncSequence, Sendable {
    /// The sequence never throws.
    public typealias Failure = Never
    private let take: @Sendable () async -> Element?

    init(subscription: Subscription, buffer: ChangeBuffer<Element>) where Element: ObservedChange {
        take = {
            let element = await buffer.next()
            // The subscription must live until the element has been taken; without this it may be released early.
            return withExtendedLifetime(subscription) { element }
        }
    }

    /// Returns an iterator, which shares its elements with all other iterators of this sequence.
    public func makeAsyncIterator() -> Iterator { Iterator(take: take) }

    /// The iterator of ``Changes``.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let take: @Sendable () async -> Element?

        /// Waits for the next element. Returns nil when the sequence has ended.
        public mutating func next() async -> Element? { await take() }

        /// Waits for the next element. Returns nil when the sequence has ended.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            await take()
        }
    }
}

/// The registration of an observer in a feed. It is removed when this object is released.
final class Subscription: Sendable {
    private let feed: ChangeFeed
    private let number: UInt64

    init(feed: ChangeFeed, number: UInt64) {
        self.feed = feed
        self.number = number
    }

    deinit {
        feed.remove(number)
    }
}
