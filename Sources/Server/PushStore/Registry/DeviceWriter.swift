import PushModel
import PushTime

/// The changes of devices, which are the same in all engines. An engine reads and writes the devices.
protocol DeviceWriter: RegistryEngine {
    var identities: Identities { get }
    var note: RegistryNote { get }
    var gone: SharedDeviceSet { get }
    var others: SharedDeviceSet { get }
    /// The inactive devices whose users were erased.
    var emptied: SharedDeviceSet { get }
    var owners: SharedOwnerChanges { get }
    var owed: OwedEvents { get }
    /// Makes the order of changes in memory that of the store.
    var turn: WriteTurn { get }
    var calls: RegistrationCalls { get }
    var named: NamedAudiences { get }
    var activityObserver: ActivityObserver { get }
    var addressLimits: AddressLimits { get }

    /// Returns the time for a write, later than that of the last write of this process.
    func stamp() -> WallTime

    /// Reads devices and the tags of some of them, lets `decide` change them, and stores the changes. Returns when they
    /// are durable. The caller has the turn.
    ///
    /// - Parameter installations: The installations whose devices are read, besides those of the devices; nil for none.
    func change<Outcome: Sendable>(
        _ ids: Set<DeviceID>, tagged: Set<DeviceID>, installations: Set<Installation>?,
        _ decide: @escaping @Sendable (inout DeviceChanges) -> Outcome
    ) async throws -> (Outcome, DeviceChanges)

    /// The addresses of Live Activities that updates have reached.
    var updated: UpdatedDevices { get }

    /// Returns at most a page of addresses of Live Activities.
    func activities(_ which: ActivityState, since time: WallTime) async throws -> [DeviceID]

    /// Returns the devices with these ids that exist, in no particular order.
    func find(_ ids: [DeviceID]) async throws -> [Device]

    /// Stores and remembers what deactivations change. Takes a turn.
    func apply(_ marks: [RecordedDeactivation]) async throws

    /// Counts events that the ledger did not accept.
    func lost(events: Int)
}

extension DeviceWriter {
    /// Returns the time of the write after one at `last`. If the clock was far ahead, the times do not stay there.
    static func stamp(after last: WallTime, at now: WallTime) -> WallTime {
        last < now || last > now + AgeClock.tolerance ? now : last.adding(milliseconds: 1)
    }

    // MARK: Registrations

    func enroll(_ devices: [DeviceRegistration]) async throws -> [RegisteredDevice] {
        guard !devices.isEmpty else { return [] }
        try turn.mustHaveRoom()
        let (outcomes, events) = try await withCheckedThrowingContinuation { continuation in
            let call = RegistrationCall(devices, waiter: continuation)
            switch calls.add(call) {
            case .waits: break
            // A task of its own: if the caller is canceled, the other calls must still be written.
            case .mustWrite: Task { await self.writeCalls() }
            case .full: call.end(.failure(WriteTurn.busy(calls.limit)))
            }
        }
        await publish(events)
        return outcomes
    }

    /// Writes the waiting calls until there are none. Other changes take their turn between two groups.
    private func writeCalls() async {
        while true {
            let isDone = await turn.take {
                let group = calls.take(atMost: RegistrationCalls.groupLimit)
                if !group.isEmpty { await write(group) }
                return group.isEmpty
            }
            if isDone { return }
        }
    }

    /// Writes several waiting calls together, because a sync costs as much as a hundred registrations.
    private func write(_ group: [RegistrationCall]) async {
        let batch = RegistrationBatch(
            group.map(\.devices), identities: identities, limits: addressLimits, at: stamp())
        do {
            let (answers, changes) = try await change(
                batch.ids, tagged: batch.tagged, installations: batch.installations
            ) { devices in
                var batch = batch
                return batch.decide(&devices)
            }
            remember(changes)
            for (call, answer) in zip(group, answers) { call.end(.success((answer.outcomes, answer.events))) }
        } catch {
            for call in group { call.end(.failure(error)) }
        }
    }

    /// Holds in memory what was written.
    private func remember(_ changes: DeviceChanges) {
        for change in changes.list {
            guard let device = change.after else { continue }
            if let before = change.before { noteUser(of: device, after: before) }
            if device.isActive { gone.remove(device.deviceId) } else { gone.insert(device.deviceId) }
            if device.isActive, !emptied.isEmpty { emptied.remove(device.deviceId) }
            if device.kind == nil { others.remove(device.deviceId) } else { others.insert(device.deviceId) }
            if device.isActive, let activity = device.activity {
                activityObserver.tell(app: device.app, activity: activity)
            }
        }
    }

    private func noteUser(of device: Device, after before: Device) {
        guard !before.isEmptied, let user = before.user, device.user.map({ $0.isExactly(user) }) != true else { return }
        owners.note(.newUser(device.user), of: device.deviceId)
    }

    /// Holds in memory what deactivations changed.
    func remember(_ result: DeactivationBatch.Result) {
        for (device, change) in result.left { owners.note(change, of: device) }
        for device in result.spared { gone.remove(device) }
        for device in result.devices { gone.insert(device) }
        for device in result.emptied { emptied.insert(device) }
        for device in result.erased {
            gone.remove(device)
            others.remove(device)
            emptied.remove(device)
        }
        lost(events: owed.add(result.events))
    }

    func tellOwed() async {
        while true {
            let some = owed.take(atMost: 1000)
            if some.isEmpty { return }
            await publish(some)
        }
    }

    /// Publishes events of changes that are already stored. If the ledger does not accept them, the changes stay: a
    /// second registration would be answered `known` and would publish nothing.
    func publish(_ events: [EventDraft]) async {
        guard !events.isEmpty else { return }
        if await note(events) == nil { lost(events: events.count) }
    }

    // MARK: Changes by operators

    func activate(_ ids: [DeviceID]) async throws -> [DeviceID] {
        try turn.mustHaveRoom()
        let now = stamp()
        let changed = try await turn.take {
            let wanted = Set(ids)
            let (changed, _) = try await change(wanted, tagged: [], installations: nil) { devices in
                var changed: [(DeviceID, AppID)] = []
                for id in wanted {
                    guard var change = devices[id], var device = change.after, let end = device.deactivatedAt,
                        device.token.token != nil, let app = AppID(device.app)
                    else { continue }
                    (device.deactivatedAt, device.reason, device.evidence) = (nil, nil, nil)
                    device.replaceTimes(aheadOf: now)
                    device.reactivatedAt = end > now + AgeClock.tolerance ? now : max(now, end)
                    change.after = device
                    devices.put(change, for: id)
                    changed.append((id, app))
                }
                return changed
            }
            for (device, _) in changed { gone.remove(device) }
            return changed
        }
        await publish(
            changed.map { device, app in
                var event = EventDraft(.deviceReactivated, app: app)
                event.device = device
                // The reason that an operator has made the device active again.
                event.reason = "operator"
                return event
            })
        return changed.map(\.0)
    }

    func end(
        _ devices: [DeviceID], reason: String, erasing: Bool, as pseudonym: String? = nil
    ) async throws -> [DeviceID] {
        try turn.mustHaveRoom()
        let now = stamp()
        let concerned = try await find(Array(Set(devices))).filter { erasing ? !$0.isEmptied : $0.isActive }
        let marks = concerned.compactMap { device in
            AppID(device.app).map {
                // In a cluster, another clock may have dated the registration, which comes before this order.
                let now = max(now, device.lastSeen ?? now, device.reactivatedAt?.adding(milliseconds: 1) ?? now)
                return RecordedDeactivation(
                    of: Deactivation(of: device.deviceId, app: $0, reason: reason, evidence: now, erases: erasing),
                    at: now, pseudonym: pseudonym)
            }
        }
        guard !marks.isEmpty else { return [] }
        // Write the event first: then the change is certain, now or when the log is read again. Before that, hold the
        // devices as inactive, so that nothing is sent to them after the event.
        let held = hold(marks.map(\.content.device))
        guard await note(marks.map { .deactivated($0.content) }) != nil else {
            await release(held)
            throw RegistryError(
                .cannotPublish,
                "no device was \(erasing ? reason : "deactivated"): the ledger cannot write events; check the log "
                    + "for ledger errors")
        }
        try await apply(marks)
        await publishOwed()
        return marks.map(\.content.device)
    }
}
