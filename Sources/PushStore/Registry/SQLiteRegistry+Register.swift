package import PushModel

extension SQLiteRegistry {
    package func register(_ devices: [DeviceRegistration]) async throws -> [RegisteredDevice] {
        guard !devices.isEmpty else { return [] }
        try turn.mustHaveRoom()
        let (outcomes, events) = try await withCheckedThrowingContinuation { continuation in
            let call = RegistrationCall(devices, waiter: continuation)
            switch calls.add(call) {
            case .waits: break
            // A task of its own: if the caller is canceled, the other calls must still be written.
            case .mustWrite: Task { await self.writeCalls() }
            case .full: call.end(.failure(WriteTurn.busy(Self.waitingCalls)))
            }
        }
        await publish(events)
        return outcomes
    }

    /// The maximum number of calls that wait to be written.
    static let waitingCalls = 4096

    /// Writes the waiting calls until there are none. Other changes take their turn between two groups.
    private func writeCalls() async {
        while true {
            let isDone = await turn.take {
                let group = calls.take(atMost: Self.groupLimit)
                if !group.isEmpty { await write(group) }
                return group.isEmpty
            }
            if isDone { return }
        }
    }

    /// The maximum number of registrations in a transaction. With more, callers would wait longer for the commit.
    private static let groupLimit = 2000

    /// Writes several waiting calls in one transaction, because a sync costs as much as a hundred registrations.
    private func write(_ group: [RegistrationCall]) async {
        let (database, identities, now, calls) = (database, identities, stamp(), group.map(\.devices))
        do {
            let result = try await database.change { try Registration.run(calls, identities, at: now, in: $0) }
            unknown.written(result.active)
            unknown.written(result.replaced)
            for device in result.active { gone.remove(device) }
            for device in result.replaced { gone.insert(device) }
            state.withLock { state in
                state.status.registered += result.fresh + result.nowRegistered
                state.status.unregistered -= result.nowRegistered
            }
            for (index, call) in group.enumerated() {
                call.end(.success((result.outcomes[index], result.events[index])))
            }
        } catch {
            for call in group { call.end(.failure(error)) }
        }
    }

    /// Publishes events of changes that are already in the file. If the ledger does not accept them, the changes stay:
    /// a second registration would be answered `known` and would publish nothing.
    private func publish(_ events: [EventDraft]) async {
        guard !events.isEmpty else { return }
        if await note(events) == nil {
            state.withLock { $0.status.unpublished += UInt64(events.count) }
        }
    }

    package func deactivate(_ devices: [DeviceID], reason: String) async throws -> [DeviceID] {
        try await end(devices, reason: reason, erasing: false)
    }

    package func reactivate(_ devices: [DeviceID]) async throws -> [DeviceID] {
        try turn.mustHaveRoom()
        let now = stamp()
        let changed = try await turn.take {
            let changed = try await database.change { transaction in
                var changed: [(DeviceID, AppID)] = []
                for before in try Device.find(Array(Set(devices)), in: transaction) where !before.isActive {
                    guard before.token.token != nil, let app = AppID(before.app) else { continue }
                    var device = before
                    (device.deactivatedAt, device.reason, device.evidence) = (nil, nil, nil)
                    device.reactivatedAt = now
                    try device.save(changedSince: before, in: transaction)
                    changed.append((device.deviceId, app))
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
                event.reason = Self.byOperator
                return event
            })
        return changed.map(\.0)
    }

    /// The reason in the event of a device that an operator has made active again.
    private static let byOperator = "operator"

    package func remove(_ devices: [DeviceID]) async throws -> [DeviceID] {
        try await end(devices, reason: Deactivation.removed, erasing: true)
    }

    private func end(_ devices: [DeviceID], reason: String, erasing: Bool) async throws -> [DeviceID] {
        try turn.mustHaveRoom()
        let now = stamp()
        let concerned = try await database.read { snapshot in
            try Device.find(Array(Set(devices)), in: snapshot).filter { erasing || $0.isActive }
        }
        let marks = concerned.compactMap { device in
            AppID(device.app).map {
                RecordedDeactivation(
                    of: Deactivation(of: device.deviceId, app: $0, reason: reason, evidence: now, erases: erasing),
                    at: now)
            }
        }
        guard !marks.isEmpty else { return [] }
        // Write the event first: then the change is certain, now or when the registry is opened again. Before that,
        // hold the devices as inactive, so that nothing is sent to them after the event.
        let held = hold(marks.map(\.content.device))
        guard await note(marks.map { .deactivated($0.content) }) != nil else {
            await release(held)
            throw RegistryError(
                .cannotPublish,
                "no device was \(erasing ? "removed" : "deactivated"): the ledger cannot write events; check the log "
                    + "for ledger errors")
        }
        try await apply(marks, upTo: nil)
        return marks.map(\.content.device)
    }
}
