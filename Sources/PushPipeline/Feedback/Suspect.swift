import PushModel
import PushTime

/// A device that may be dead, as reported by an answer or by the feedback service.
struct Suspect: Sendable, Equatable {
    let device: DeviceID
    let app: AppID
    let reason: String?
    /// The last time at which the device is known to have been dead, in milliseconds since 1970.
    let evidence: Int64
    let messageID: MessageID?
    let apnsID: APNSID?

    var event: EventDraft {
        var event = EventDraft.deactivated(device, app: app, reason: reason, evidence: evidence)
        event.messageID = messageID
        event.apnsID = apnsID
        return event
    }
}

/// Devices whose events are on disk but which the registry may not have processed yet.
///
/// An entry is kept for a minute at most; by then the registry has processed the event. There are two generations: when
/// the younger is full, the older is dropped. In the worst case an event is written twice, which has no further effect.
struct ToldDevices: Sendable {
    private struct Telling: Sendable {
        /// The evidence as the registry stores it: at most the time of the event, even if the provider's timestamp is
        /// in the future.
        let evidence: Int64
        let at: MonotonicTime
    }

    private static let age: Duration = .seconds(60)
    private let limit: Int
    private var younger: [DeviceID: Telling] = [:]
    private var older: [DeviceID: Telling] = [:]

    init(limit: Int) {
        self.limit = max(1, limit)
    }

    /// Returns whether the deactivation of the device was recorded.
    ///
    /// - Parameter seen: when the device was last seen; a device that has registered since does not count as recorded.
    func contains(_ device: DeviceID, since seen: Int64, now: MonotonicTime) -> Bool {
        guard let telling = younger[device] ?? older[device] else { return false }
        return telling.evidence >= seen && now < telling.at + Self.age
    }

    mutating func add(_ device: DeviceID, evidence: Int64, now: MonotonicTime) {
        if younger.count >= limit {
            older = younger
            younger = [:]
        }
        younger[device] = Telling(evidence: evidence, at: now)
    }
}
