import PushModel
import PushTime

/// The ages at which addresses of Live Activities end.
enum ActivityUpkeep {
    /// The system ends an activity at the latest twelve hours after its start, and Carillon after its last update.
    static let silence: Duration = .seconds(12 * 3600)
    /// The time for which an ended address is kept.
    static let keeps: Duration = .seconds(24 * 3600)
    /// The number of addresses in one write.
    static let pageSize = 1000

    static func isSilent(_ device: Device, at now: WallTime) -> Bool {
        device.activity != nil && device.isActive && (device.lastSeen.map { $0 + silence <= now } ?? true)
    }

    static func isForgotten(_ device: Device, at now: WallTime) -> Bool {
        device.activity != nil && (device.deactivatedAt.map { $0 + keeps <= now } ?? false)
    }
}

/// The addresses of Live Activities that an engine looks for.
enum ActivityState: Sendable {
    /// Active ones that were last seen at a time or before it.
    case silent
    /// Those that ended at a time or before it.
    case ended
}
