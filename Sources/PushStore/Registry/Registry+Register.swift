package import PushModel

extension Registry {
    package func register(_ devices: [DeviceRegistration]) async throws -> [RegisteredDevice] {
        guard !devices.isEmpty else { return [] }
        let call = RegistrationCall(devices)
        try turn.mustHaveRoom()
        calls.add(call)
        await turn.take {
            // An earlier turn may have written this call, too.
            while call.result == nil { await write(calls.take(atMost: Self.groupLimit)) }
        }
        guard let result = call.result else { preconditionFailure("registration not written in its turn") }
        let (outcomes, events) = try result.get()
        await publish(events)
        return outcomes
    }

    /// The maximum number of registrations in a transaction. With more, callers would wait longer for the commit.
    private static let groupLimit = 2000

    /// Writes several waiting calls in one transaction, because a sync costs as much as a hundred registrations.
    private func write(_ group: [RegistrationCall]) async {
        guard !group.isEmpty else { preconditionFailure("waiting registration missing from the queue") }
        let (database, identities, now, calls) = (database, identities, stamp(), group.map(\.devices))
        // Use a separate task: if the caller that has the turn is canceled, the other calls must still be written.
        let work = Task { try await database.write { try Registration.run(calls, identities, at: now, in: $0) } }
        switch await work.result {
        case .failure(let error):
            for call in group { call.end(.failure(error)) }
        case .success(let result):
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
