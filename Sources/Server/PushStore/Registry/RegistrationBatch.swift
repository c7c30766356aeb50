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
    private let limits: AddressLimits
    private let now: WallTime
    /// The devices that must be read before the decision.
    private(set) var ids: Set<DeviceID> = []
    /// Those of them whose tags must be read as well.
    private(set) var tagged: Set<DeviceID> = []
    /// The installations that are stated. All of their devices must be read, and all of those of the installations to
    /// which the devices belong.
    private(set) var installations: Set<Installation> = []
    private var outcomes: [RegisteredDevice] = []
    private var events: [EventDraft] = []

    /// What a call is answered, and the events that follow.
    struct Answer: Sendable {
        let outcomes: [RegisteredDevice]
        let events: [EventDraft]
    }

    init(_ calls: [[DeviceRegistration]], identities: Identities, limits: AddressLimits, at now: WallTime) {
        self.now = now
        self.limits = limits
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
            if let installation = named.registration.place.installation, !installation.isEmpty {
                installations.insert(Installation(app: named.registration.app.name, name: installation))
                tagged.insert(named.id)
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
        var draft =
            devices[id] ?? DeviceChange(new: Device(id, app: registration.app, token: registration.token))
        let before = draft.after
        var device = before ?? Device(id, app: registration.app, token: registration.token)
        if device.isEmptied { device.user = nil }
        device.token = KeptToken(registration.token)
        device.place = Self.place(registration.place, replaced: old?.after?.place, stored: device.place)
        let siblings = siblings(of: device, before: before, named, in: devices)
        guard siblings.hasRoom else {
            outcomes.append(RegisteredDevice(id: id, change: .tooMany))
            return
        }
        // The properties of an installation come before those that the address had alone.
        let model = before.flatMap { $0.home != nil && $0.home == device.home ? $0 : nil } ?? siblings.model
        let others = model.map { SharedProperties($0, tags: devices[$0.deviceId]?.tags ?? []) }
        if let replaced = named.replaced { retire(replaced, app: registration.app, in: &devices) }
        for sibling in siblings.replaced { retire(sibling.deviceId, app: registration.app, in: &devices) }
        for sibling in siblings.leaving { Self.release(sibling.deviceId, in: &devices) }
        device.platform = Self.property(registration.platform, replaced: old?.after?.platform, stored: device.platform)
        device.appVersion = Self.property(
            registration.appVersion, replaced: old?.after?.appVersion, stored: device.appVersion)
        let shared = SharedProperties(of: registration, others: others, replaced: old, device, tags: draft.tags)
        shared.set(in: &device)
        draft.tags = shared.tags
        if registration.namesShared { Self.share(shared, with: siblings.staying, in: &devices) }
        if registration.purpose == .change {
            draft.after = device
            devices.put(draft, for: id)
            outcomes.append(RegisteredDevice(id: id, change: .known))
        } else {
            // A device is also known if this batch has created it.
            let isNew = device.seenAt == nil && draft.before == nil
            let change: RegisteredDevice.Change = isNew ? .registered : device.isActive ? .known : .reactivated
            note(device, draft, of: registration.app, as: change, in: &devices)
        }
    }

    /// Stores a device that is there now.
    private mutating func note(
        _ device: Device, _ draft: DeviceChange, of app: AppID, as change: RegisteredDevice.Change,
        in devices: inout DeviceChanges
    ) {
        var (device, draft) = (device, draft)
        let id = device.deviceId
        device.replaceTimes(aheadOf: now)
        let now = Self.time(now, of: device)
        device.registeredAt = device.registeredAt ?? now
        // A clock that was set back does not make a device older.
        device.seenAt = max(now, device.seenAt ?? now)
        if change == .reactivated { device.reactivatedAt = now }
        device.deactivatedAt = nil
        device.reason = nil
        device.evidence = nil
        draft.after = device
        devices.put(draft, for: id)
        outcomes.append(RegisteredDevice(id: id, change: change))
        switch change {
        case .registered: events.append(EventDraft(.deviceRegistered, of: device, app: app))
        case .reactivated: events.append(EventDraft(.deviceReactivated, of: device, app: app))
        case .known, .missing, .tooMany: break
        }
    }

    // MARK: Installations

    /// Returns the other addresses of the installation to which a device will belong.
    private func siblings(
        of device: Device, before: Device?, _ named: Named, in devices: DeviceChanges
    ) -> Siblings {
        guard let home = device.home else { return Siblings() }
        let others = devices.devices(in: home).filter { $0.deviceId != named.id && $0.deviceId != named.replaced }
        if named.registration.purpose == .change { return Siblings(staying: others) }
        return Siblings(
            of: device, among: others, isMember: before.map { $0.isActive && $0.home == home } ?? false,
            limit: limits.limit(of: named.registration.app))
    }

    /// Gives the properties of an installation to its other addresses.
    private static func share(
        _ properties: SharedProperties, with siblings: [Device], in devices: inout DeviceChanges
    ) {
        for sibling in siblings {
            guard var draft = devices[sibling.deviceId], var device = draft.after else { continue }
            guard SharedProperties(device, tags: draft.tags) != properties else { continue }
            properties.set(in: &device)
            draft.after = device
            draft.tags = properties.tags
            devices.put(draft, for: sibling.deviceId)
        }
    }

    /// Takes an inactive address out of its installation.
    private static func release(_ id: DeviceID, in devices: inout DeviceChanges) {
        guard var draft = devices[id] else { return }
        draft.after?.installation = nil
        devices.put(draft, for: id)
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
    private static func property(_ given: String?, replaced: String?, stored: String?) -> String? {
        guard let given else { return replaced ?? stored }
        return given.isEmpty ? nil : given
    }

    private static func place(
        _ given: AddressPlace, replaced: AddressPlace?, stored: AddressPlace
    ) -> AddressPlace {
        var place = AddressPlace(kind: given.kind ?? replaced?.kind ?? stored.kind)
        if place.kind == .activity {
            place.activity = property(given.activity, replaced: replaced?.activity, stored: stored.activity)
        }
        if place.kind == .activity || place.kind == .pushToStart {
            place.activityType = property(
                given.activityType, replaced: replaced?.activityType, stored: stored.activityType)
        }
        place.installation = property(given.installation, replaced: replaced?.installation, stored: stored.installation)
        return place
    }

    /// Deactivates a replaced device. Its user, its tags and its place in the installation move to the new token.
    private mutating func retire(_ id: DeviceID, app: AppID, in devices: inout DeviceChanges) {
        guard var draft = devices[id], var device = draft.after else { return }
        device.user = nil
        device.installation = nil
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
}
