package import PushModel

extension Registry {
    package func register(_ devices: [DeviceRegistration]) async throws -> [RegisteredDevice] {
        guard !devices.isEmpty else { return [] }
        let call = RegistrationCall(devices)
        try turn.mustHaveRoom()
        calls.add(call)
        await turn.take {
            // Whoever had the turn before may have written this one too.
            while call.result == nil { await write(calls.take(atMost: Self.groupLimit)) }
        }
        guard let result = call.result else { preconditionFailure("a registration was not written in its turn") }
        let (outcomes, events) = try result.get()
        await publish(events)
        return outcomes
    }

    /// Registrations in one transaction: with more, who waits for it waits longer.
    private static let groupLimit = 2000

    /// One transaction for calls that wait: a sync costs as much as a hundred registrations.
    private func write(_ group: [RegistrationCall]) async {
        guard !group.isEmpty else { preconditionFailure("a registration waits, and is not among those that do") }
        let (database, identities, now, calls) = (database, identities, stamp(), group.map(\.devices))
        // A task of its own: who was first may give up, the others have not.
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

    /// Events of what is in the file already: if the ledger does not take them, that stands all the same, since whoever
    /// registers again would be told that the device is known.
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
                var mark = Deactivation(device: device.deviceId, app: $0, reason: reason, evidence: now, time: now)
                mark.erases = erasing
                return mark
            }
        }
        guard !marks.isEmpty else { return [] }
        // The event first: what it says is done in any case, now or when the registry is opened again.
        // And before that the devices are gone for whoever sends, so that nothing follows the event.
        let held = hold(marks.map(\.device))
        guard await note(marks.map(\.event)) != nil else {
            await release(held)
            throw RegistryError(
                .cannotPublish,
                "the ledger does not take events, so nothing was \(erasing ? "removed" : "deactivated"): see what its "
                    + "log says")
        }
        try await apply(marks, upTo: nil)
        return marks.map(\.device)
    }
}
