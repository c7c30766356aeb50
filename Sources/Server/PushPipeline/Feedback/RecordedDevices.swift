import PushModel
import PushTime

/// Devices whose events are on disk but which the registry may not have processed yet.
///
/// An entry is kept for a minute at most; by then the registry has processed the event. There are two generations: when
/// the younger is full, the older is dropped. In the worst case an event is written twice, which has no further effect.
struct RecordedDevices: Sendable {
    private struct Entry: Sendable {
        /// The evidence as the registry stores it: at most the time of the event, even if the provider's timestamp is
        /// in the future.
        let evidence: WallTime
        let at: MonotonicTime
    }

    private static let age: Duration = .seconds(60)
    private let limit: Int
    private var younger: [DeviceID: Entry] = [:]
    private var older: [DeviceID: Entry] = [:]

    init(limit: Int) {
        self.limit = max(1, limit)
    }

    /// Returns whether the deactivation of the device was recorded.
    ///
    /// - Parameter seen: when the device was last seen; a device that has registered since does not count as recorded.
    func contains(_ device: DeviceID, since seen: WallTime, now: MonotonicTime) -> Bool {
        guard let entry = younger[device] ?? older[device] else { return false }
        return entry.evidence >= seen && now < entry.at + Self.age
    }

    mutating func add(_ device: DeviceID, evidence: WallTime, now: MonotonicTime) {
        if younger.count >= limit {
            older = younger
            younger = [:]
        }
        younger[device] = Entry(evidence: evidence, at: now)
    }
}
