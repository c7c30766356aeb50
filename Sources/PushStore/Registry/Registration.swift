import ActiveObject
import PushModel
import PushTime

/// Applies registrations in memory first, so that each device is read once and written once, however often it is named.
/// The registrations may come from several calls, which share a transaction and its sync.
struct Registration {
    /// A device before and after the registrations.
    private struct Draft {
        let before: Device?
        var device: Device
        let tagsBefore: Set<ExactText>
        var tags: Set<ExactText>
    }

    /// The effects of the transaction that memory and the event log need.
    struct Result: Sendable {
        /// The outcomes of each call.
        var outcomes: [[RegisteredDevice]] = []
        var events: [[EventDraft]] = []
        /// The written devices that are active.
        var active: [DeviceID] = []
        /// The written devices that were replaced by others.
        var replaced: [DeviceID] = []
        /// The number of devices that were not in the file before.
        var fresh = 0
        /// The number of devices that were in the file without a registration and are now registered.
        var nowRegistered = 0
    }

    private let now: WallTime
    private var drafts: [DeviceID: Draft] = [:]
    /// The ids of the changed drafts, in the order of registration. New rows are written in this order.
    private var order: [DeviceID] = []
    private var ordered: Set<DeviceID> = []
    private var outcomes: [RegisteredDevice] = []
    private var events: [EventDraft] = []
    private(set) var result = Result()

    static func run(
        _ calls: [[DeviceRegistration]], _ identities: Identities, at now: WallTime, in transaction: Transaction
    ) throws -> Result {
        var batch = Registration(now: now)
        let named = calls.map { call in
            call.map { one in
                (
                    one, identities.device(of: one.app, token: one.token),
                    one.replaces.flatMap { $0 == one.token ? nil : identities.device(of: one.app, token: $0) }
                )
            }
        }
        try batch.read(named.flatMap(\.self), in: transaction)
        for call in named {
            for (registration, id, replaced) in call { batch.register(registration, id, replacing: replaced) }
            batch.endCall()
        }
        try batch.write(in: transaction)
        return batch.result
    }

    private mutating func endCall() {
        result.outcomes.append(outcomes)
        result.events.append(events)
        outcomes = []
        events = []
    }

    private mutating func put(_ draft: Draft, _ id: DeviceID) {
        drafts[id] = draft
        if ordered.insert(id).inserted { order.append(id) }
    }

    private init(now: WallTime) {
        self.now = now
    }

    private mutating func read(
        _ named: [(DeviceRegistration, DeviceID, DeviceID?)], in transaction: Transaction
    ) throws {
        var ids: Set<DeviceID> = []
        var tagged: Set<DeviceID> = []
        for (registration, id, replaced) in named {
            ids.insert(id)
            if registration.tags != nil { tagged.insert(id) }
            if let replaced {
                ids.insert(replaced)
                tagged.formUnion([id, replaced])
            }
        }
        let found = try Device.find(Array(ids), in: transaction)
        let tags = try Device.tags.load(for: found.filter { tagged.contains($0.deviceId) }, in: transaction)
        for device in found {
            let tags = Set((device.objectId.flatMap { tags[$0] } ?? []).map { ExactText($0.tag) })
            drafts[device.deviceId] = Draft(before: device, device: device, tagsBefore: tags, tags: tags)
        }
    }

    // MARK: In memory

    private mutating func register(_ registration: DeviceRegistration, _ id: DeviceID, replacing replaced: DeviceID?) {
        guard registration.purpose == .registration || drafts[id] != nil else {
            outcomes.append(RegisteredDevice(id: id, change: .missing))
            return
        }
        let old = replaced.flatMap { drafts[$0] }
        if let replaced, old != nil { retire(replaced, app: registration.app) }
        var draft =
            drafts[id]
            ?? Draft(
                before: nil, device: Device(id, app: registration.app, token: registration.token), tagsBefore: [],
                tags: [])
        // A device is also known if this batch has created it.
        let isNew = draft.device.seenAt == nil && draft.before == nil
        let change: RegisteredDevice.Change = isNew ? .registered : draft.device.isActive ? .known : .reactivated
        draft.device.token = KeptToken(registration.token)
        draft.device.user = Self.property(registration.user, old?.device.user, draft.device.user)
        draft.device.locale = Self.property(registration.locale, old?.device.locale, draft.device.locale)
        draft.device.platform = Self.property(registration.platform, old?.device.platform, draft.device.platform)
        draft.device.appVersion = Self.property(
            registration.appVersion, old?.device.appVersion, draft.device.appVersion)
        if let tags = registration.tags {
            draft.tags = Set(tags.map { ExactText($0) })
        } else if let old {
            draft.tags.formUnion(old.tags)
        }
        guard registration.purpose != .change else {
            put(draft, id)
            outcomes.append(RegisteredDevice(id: id, change: .known))
            return
        }
        draft.device.registeredAt = draft.device.registeredAt ?? now
        // A clock that was set back does not make a device older.
        draft.device.seenAt = max(now, draft.device.seenAt ?? now)
        draft.device.deactivatedAt = nil
        draft.device.reason = nil
        draft.device.evidence = nil
        put(draft, id)
        outcomes.append(RegisteredDevice(id: id, change: change))
        switch change {
        case .registered: tell(.deviceRegistered, id, registration.app)
        case .reactivated: tell(.deviceReactivated, id, registration.app)
        case .known, .missing: break
        }
    }

    /// Returns the given value of a property, or else that of the replaced device, or else the stored one. An empty
    /// text removes the property.
    private static func property(_ given: String?, _ replaced: String?, _ stored: String?) -> String? {
        guard let given else { return replaced ?? stored }
        return given.isEmpty ? nil : given
    }

    /// Deactivates a replaced device. Its user and tags move to the new token.
    private mutating func retire(_ id: DeviceID, app: AppID) {
        guard var draft = drafts[id] else { return }
        draft.device.user = nil
        draft.tags = []
        if draft.device.isActive {
            draft.device.deactivatedAt = now
            draft.device.reason = Self.replaced
            draft.device.evidence = now
            events.append(.deactivated(Deactivation(of: id, app: app, reason: Self.replaced, evidence: now)))
        }
        put(draft, id)
    }

    static let replaced = "replaced"

    private mutating func tell(_ kind: EventKind, _ id: DeviceID, _ app: AppID) {
        var event = EventDraft(kind, app: app)
        event.device = id
        events.append(event)
    }

    // MARK: Writing

    private mutating func write(in transaction: Transaction) throws {
        var fresh: [Device] = []
        var tagsToAdd: [DeviceTag] = []
        for id in order {
            guard let draft = drafts[id] else { continue }
            if draft.device.isActive { result.active.append(id) } else { result.replaced.append(id) }
            guard let before = draft.before else {
                fresh.append(draft.device)
                continue
            }
            if before.registeredAt == nil, draft.device.registeredAt != nil { result.nowRegistered += 1 }
            var device = draft.device
            try device.save(changedSince: before, in: transaction)
            guard let row = before.objectId, draft.tags != draft.tagsBefore else { continue }
            let gone = draft.tagsBefore.subtracting(draft.tags)
            if !gone.isEmpty {
                try DeviceTag.remove(where: \.device == row && .isIn(\.tag, values: gone.map(\.text)), in: transaction)
            }
            tagsToAdd += draft.tags.subtracting(draft.tagsBefore).map { DeviceTag(device: row, tag: $0.text) }
        }
        result.fresh = fresh.count
        try fresh.saveAll(in: transaction)
        for device in fresh {
            guard let row = device.objectId, let draft = drafts[device.deviceId] else { continue }
            tagsToAdd += draft.tags.map { DeviceTag(device: row, tag: $0.text) }
        }
        try tagsToAdd.saveAll(in: transaction)
    }
}
