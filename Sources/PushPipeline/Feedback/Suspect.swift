import PushModel
import PushTime

/// A device that may be dead, wherever that was learned.
struct Suspect: Sendable, Equatable {
    let device: DeviceID
    let app: AppID
    let reason: String?
    /// Milliseconds since 1970: the last moment of which it is known.
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

/// Devices whose events are on disk and perhaps not yet with the registry.
///
/// For a minute at most: whatever the registry made of an event, by then it has. In two generations: when the younger is
/// full, the older is forgotten, and at worst an event is written twice, which does nothing more.
struct ToldDevices: Sendable {
    private struct Telling: Sendable {
        /// What the registry makes of it: no moment after the event counts, whatever a provider says of the future.
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

    /// - Parameter seen: when the device was last seen: one that has registered since is another matter.
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
