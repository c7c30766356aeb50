import PushModel
import PushTime

/// Decides what registrations change. They may come from several calls, which share a write.
struct RegistrationBatch: Sendable {
    private struct Named: Sendable {
        let registration: DeviceRegistration
        let id: DeviceID
        let replaced: DeviceID?
    }

    private let calls: [[Named]]
    private let now: WallTime
    /// The devices that must be read before the decision.
    private(set) var ids: Set<DeviceID> = []
    /// Those of them whose tags must be read as well.
    private(set) var tagged: Set<DeviceID> = []
    private var outcomes: [RegisteredDevice] = []
    private var events: [EventDraft] = []

    /// What a call is answered, and the events that follow.
    struct Answer: Sendable {
        let outcomes: [RegisteredDevice]
        let events: [EventDraft]
    }

    init(_ calls: [[DeviceRegistration]], identities: Identities, at now: WallTime) {
        self.now = now
        self.calls = calls.map { call in
            call.map { one in
                let id = identities.device(of: one.app, token: one.token)
                let replaced = one.replaces.map { identities.device(of: one.app, token: $0) }
                // Two addresses of one device replace each other without that.
                return Named(registration: one, id: id, replaced: replaced == id ? nil : replaced)
            }
        }
        for named in self.calls.joined() {
            ids.insert(named.id)
            if named.registration.tags != nil { tagged.insert(named.id) }
            if let replaced = named.replaced {
                ids.insert(replaced)
                tagged.formUnion([named.id, replaced])
            }
        }
    }

    /// Decides upon all calls, and returns the answer to each.
    mutating func decide(_ devices: inout DeviceChanges) -> [Answer] {
        calls.map { call in
            (outcomes, events) = ([], [])
            for named in call { register(named, in: &devices) }
            return Answer(outcomes: outcomes, events: events)
        }
    }

    private mutating func register(_ named: Named, in devices: inout DeviceChanges) {
        let (registration, id) = (named.registration, named.id)
        guard registration.purpose == .registration || devices[id]?.after != nil else {
            outcomes.append(RegisteredDevice(id: id, change: .missing))
            return
        }
        let old = named.replaced.flatMap { devices[$0] }
        if let replaced = named.replaced { retire(replaced, app: registration.app, in: &devices) }
        var draft =
            devices[id] ?? DeviceChange(new: Device(id, app: registration.app, token: registration.token))
        var device = draft.after ?? Device(id, app: registration.app, token: registration.token)
        // A device is also known if this batch has created it.
        let isNew = device.seenAt == nil && draft.before == nil
        let change: RegisteredDevice.Change = isNew ? .registered : device.isActive ? .known : .reactivated
        device.token = KeptToken(registration.token)
        device.user = Self.property(registration.user, old?.after?.user, device.user)
        device.locale = Self.property(registration.locale, old?.after?.locale, device.locale)
        device.platform = Self.property(registration.platform, old?.after?.platform, device.platform)
        device.appVersion = Self.property(registration.appVersion, old?.after?.appVersion, device.appVersion)
        device.timeZone = Self.property(registration.timeZone, old?.after?.timeZone, device.timeZone)
        device.place = Self.place(registration.place, old?.after?.place, device.place)
        if let tags = registration.tags {
            draft.tags = Set(tags.map { ExactText($0) })
        } else if let old {
            draft.tags.formUnion(old.tags)
        }
        guard registration.purpose != .change else {
            draft.after = device
            devices.put(draft, for: id)
            outcomes.append(RegisteredDevice(id: id, change: .known))
            return
        }
        let now = Self.time(now, of: device)
        device.registeredAt = device.registeredAt ?? now
        // A clock that was set back does not make a device older.
        device.seenAt = max(now, device.seenAt ?? now)
        device.deactivatedAt = nil
        device.reason = nil
        device.evidence = nil
        draft.after = device
        devices.put(draft, for: id)
        outcomes.append(RegisteredDevice(id: id, change: change))
        switch change {
        case .registered: tell(.deviceRegistered, of: id, app: registration.app)
        case .reactivated: tell(.deviceReactivated, of: id, app: registration.app)
        case .known, .missing: break
        }
    }

    /// How far the clocks of two nodes may differ, which both show the time of the database.
    private static let skew: Duration = .seconds(2)

    /// Returns the time of a registration. It follows that of the deactivation, which another node may have dated, so
    /// that the deactivation has no effect when its event is read again. A time far ahead is a mistake, and is not
    /// taken over.
    private static func time(_ now: WallTime, of device: Device) -> WallTime {
        guard let end = device.deactivatedAt, end >= now, end < now + skew else { return now }
        return end.adding(milliseconds: 1)
    }

    /// Returns the given value of a property, or else that of the replaced device, or else the stored one. An empty
    /// text removes the property.
    private static func property(_ given: String?, _ replaced: String?, _ stored: String?) -> String? {
        guard let given else { return replaced ?? stored }
        return given.isEmpty ? nil : given
    }

    private static func place(
        _ given: AddressPlace, _ replaced: AddressPlace?, _ stored: AddressPlace
    ) -> AddressPlace {
        var place = AddressPlace(kind: given.kind ?? replaced?.kind ?? stored.kind)
        if place.kind == .activity { place.activity = property(given.activity, replaced?.activity, stored.activity) }
        if place.kind == .activity || place.kind == .pushToStart {
            place.activityType = property(given.activityType, replaced?.activityType, stored.activityType)
        }
        place.installation = property(given.installation, replaced?.installation, stored.installation)
        return place
    }

    /// Deactivates a replaced device. Its user and tags move to the new token.
    private mutating func retire(_ id: DeviceID, app: AppID, in devices: inout DeviceChanges) {
        guard var draft = devices[id], var device = draft.after else { return }
        device.user = nil
        draft.tags = []
        if device.isActive {
            device.deactivatedAt = now
            device.reason = Self.replaced
            device.evidence = now
            events.append(.deactivated(Deactivation(of: id, app: app, reason: Self.replaced, evidence: now)))
        }
        draft.after = device
        devices.put(draft, for: id)
    }

    static let replaced = "replaced"

    private mutating func tell(_ kind: EventKind, of id: DeviceID, app: AppID) {
        var event = EventDraft(kind, app: app)
        event.device = id
        events.append(event)
    }
}
