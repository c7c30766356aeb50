/// What committed transactions changed, one element for each, in the order of the commits: see `changes(in:)`.
///
/// It begins when it is made, not when it is first waited for: every commit from then on is seen. It ends when the task
/// that waits is cancelled, and when the database is closed. It is for one loop: two that share it share its elements.
///
/// An observer never keeps the writer waiting. What it has not taken yet waits for it within bounds; see `buffering` of
/// `changes(in:)`.
public struct Changes<Element: Sendable>: AsyncSequence, Sendable {
    public typealias Failure = Never
    private let take: @Sendable () async -> Element?

    init(subscription: Subscription, buffer: ChangeBuffer<Element>) where Element: ObservedChange {
        take = {
            let element = await buffer.next()
            // Observed as long as somebody can take, and to the end of that: what is not used again may be let go early.
            return withExtendedLifetime(subscription) { element }
        }
    }

    public func makeAsyncIterator() -> Iterator { Iterator(take: take) }

    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let take: @Sendable () async -> Element?

        public mutating func next() async -> Element? { await take() }

        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            await take()
        }
    }
}

/// An observer's place in a feed, given back when nobody holds it any more.
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
