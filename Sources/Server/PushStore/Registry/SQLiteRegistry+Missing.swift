import ActiveObject
import Glibc
import PushModel
import PushTime
import PushWire

/// What becomes of the events of changes that a process stored and did not publish before it was killed.
///
/// The change is in `registry.db`, and its event is not in the log. After a kill, the registry therefore compares the
/// devices that changed last with the end of the log, and publishes what is missing there. An event can come twice by
/// that, if the clock was set back shortly before.
extension SQLiteRegistry {
    /// The time before the last event of the log in which a change can have been stored whose event is missing.
    private static let doubt: Duration = .seconds(60)

    /// Returns whether the last process that opened the file was killed: it has left the write-ahead log.
    static func wasKilled(_ path: String) -> Bool { unsafe access(path + "-wal", F_OK) == 0 }

    /// Finds the events that are missing at the end of the log. All of its events are applied.
    func oweMissing(in log: any EventLog) async throws {
        let newest = state.withLock { $0.status.applied }
        let told = try await ToldDevices(of: log, since: newest > options.markEvery ? newest - options.markEvery : 0)
        guard let last = told.last, let first = told.first else { return }
        let since = max(first, last - Self.doubt)
        let latest = now() + AgeClock.tolerance
        let answered = owed.devices
        let missing = try await database.read { snapshot in
            var missing: [EventDraft] = []
            try Device.changed(since: since).forEach(in: snapshot) { device in
                guard missing.count < OwedEvents.limit, !answered.contains(device.deviceId), let app = AppID(device.app)
                else { return }
                missing += told.missing(of: device, app: app, since: since, until: latest)
            }
            return missing
        }
        lost(events: owed.add(missing))
    }
}

extension Device {
    /// The devices that have become active or inactive at a time or later.
    fileprivate static func changed(since time: WallTime) -> Query<Device> {
        Self.where(\.registeredAt >= time || \.reactivatedAt >= time || \.deactivatedAt >= time)
    }
}

/// What the last events of a log say of devices.
struct ToldDevices: Sendable {
    /// The reasons of deactivations that are stored before their event. The event of others comes first.
    static let followed = [RegistrationBatch.replaced, Deactivation.activityEnded]

    /// The times of the first and the last event that was read; nil if there is none.
    private(set) var first: WallTime?
    private(set) var last: WallTime?
    /// Whether the last event of a device says that it is active.
    private var active: [DeviceID: Bool] = [:]

    /// Reads the events after one of a log.
    init(of log: any EventLog, since number: UInt64) async throws {
        var number = number
        while true {
            let page = try await log.read(since: number, limit: 10_000)
            for segment in page.segments { take(segment, since: number) }
            guard let next = page.segments.last?.last, next > number else { return }
            number = next
        }
    }

    private mutating func take(_ segment: LogSegment, since number: UInt64) {
        _ = segment.couldBeRead(since: number) { entry in
            first = first ?? entry.event.time
            last = entry.event.time
            guard let device = entry.event.device else { return true }
            switch entry.event.kind {
            case .deviceRegistered, .deviceReactivated: active[device] = true
            case .deviceDeactivated: active[device] = false
            default: break
            }
            return true
        }
    }

    /// Returns the events that the log lacks of a device that has changed.
    func missing(of device: Device, app: AppID, since: WallTime, until latest: WallTime) -> [EventDraft] {
        guard active[device.deviceId] != device.isActive else { return [] }
        func isRecent(_ time: WallTime?) -> Bool { time.map { since <= $0 && $0 <= latest } ?? false }
        if device.isActive {
            if isRecent(device.reactivatedAt) { return [EventDraft(.deviceReactivated, of: device, app: app)] }
            return isRecent(device.registeredAt) ? [EventDraft(.deviceRegistered, of: device, app: app)] : []
        }
        guard isRecent(device.deactivatedAt), let reason = device.reason, Self.followed.contains(reason),
            let evidence = device.evidence
        else { return [] }
        return [.deactivated(Deactivation(of: device.deviceId, app: app, reason: reason, evidence: evidence))]
    }
}
