import PushLoop
package import PushTime

/// The time zones of the server, which a reload of its configuration reads again.
package final class SharedTimeZones: Sendable {
    private let zones: Locked<TimeZones>

    package init(_ zones: TimeZones = .none) {
        self.zones = Locked(zones)
    }

    package var current: TimeZones { zones.withLock { $0 } }

    package func replace(with new: TimeZones) { zones.withLock { $0 = new } }
}
