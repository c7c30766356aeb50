import PushLoop
import PushModel

/// Events of devices whose changes are stored, until they can be published.
///
/// They come up while the registry reads the log, which at a start is before anybody is notified of new events.
final class OwedEvents: Sendable {
    static let limit = 100_000
    private let events = Locked<[EventDraft]>([])
    var devices: Set<DeviceID> { events.withLock { Set($0.compactMap(\.device)) } }

    /// Returns the number of events for which there is no room.
    func add(_ more: [EventDraft]) -> Int {
        if more.isEmpty { return 0 }
        return events.withLock { events in
            let room = max(0, Self.limit - events.count)
            events += more.prefix(room)
            return max(0, more.count - room)
        }
    }

    func take(atMost count: Int) -> [EventDraft] {
        events.withLock { events in
            defer { events.removeFirst(min(count, events.count)) }
            return Array(events.prefix(count))
        }
    }
}
