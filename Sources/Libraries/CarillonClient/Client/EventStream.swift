import PushLoop

/// Events by a prefix of their topics, as an asynchronous sequence.
///
/// ```swift
/// for try await event in client.events("delivery/shop/", from: .cursor("/var/lib/orders/cursor")) {
///     if event.kind == .deliveryRejected { await remove(event.device) }
/// }
/// ```
///
/// The sequence notices what it missed, while it was not connected or too slow, and replays it: each event is there
/// once, in the order of its topic. It ends with nil when the client ends or the task is cancelled, and throws
/// ``EventError``. Each iteration is a subscription of its own, which ends with the loop; the client runs on.
///
/// An event counts as taken when the loop asks for the next one, or ends. A cursor is stored after that, so that a
/// program that is killed gets the last events again, and one that ends in order gets none twice.
public struct EventStream: AsyncSequence, Sendable {
    /// An event.
    public typealias Element = CarillonEvent
    /// Why the sequence ended before its consumer did.
    public typealias Failure = EventError

    let body: ClientBody
    let settings: ClientSettings
    let prefix: String
    let start: EventStart

    /// Creates an iterator. The subscription begins with its first event.
    public func makeAsyncIterator() -> Iterator {
        Iterator(EventFeed(body: body, settings: settings, prefix: prefix, start: start))
    }

    /// The iterator of a subscription.
    public struct Iterator: AsyncIteratorProtocol {
        private let feed: EventFeed

        init(_ feed: EventFeed) {
            self.feed = feed
        }

        /// The position after the last event that was taken. A program that stores it together with its own work gets
        /// each event exactly once.
        public var position: EventPosition { feed.position }

        /// Returns the next event; nil at the end.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(EventError) -> CarillonEvent? {
            try await feed.next(isolation: actor)
        }

        /// Returns the next event; nil at the end.
        public mutating func next() async throws(EventError) -> CarillonEvent? {
            try await feed.next(isolation: nil)
        }
    }
}

/// Where a subscription begins.
public struct EventStart: Sendable, Hashable {
    indirect enum Place: Sendable, Hashable {
        case now
        case position(EventPosition)
        case cursor(String, first: Place)
    }

    let place: Place

    /// With the events that happen from now on.
    public static let now = EventStart(place: .now)
    /// With the oldest event that Carillon keeps.
    public static let beginning = EventStart(place: .position(EventPosition()))

    /// After a position.
    public static func after(_ position: EventPosition) -> EventStart { EventStart(place: .position(position)) }

    /// After the position in a file, which is stored there as events are taken.
    ///
    /// - Parameters:
    ///   - file: The path of the file. One subscription at a time may use it.
    ///   - first: Where to begin if the file does not exist.
    public static func cursor(_ file: String, first: EventStart = .beginning) -> EventStart {
        EventStart(place: .cursor(file, first: first.place))
    }
}

extension CarillonClient {
    /// Returns the events whose topics begin with a prefix, such as `delivery/shop/`; all events with an empty one.
    ///
    /// - Parameters:
    ///   - prefix: At most 255 bytes.
    ///   - start: Where to begin: with new events, with the oldest ones, or where a cursor is.
    public func events(_ prefix: String = "", from start: EventStart = .now) -> EventStream {
        EventStream(body: body, settings: settings, prefix: prefix, start: start)
    }
}
