package import PushModel

extension Registry {
    package func register(_ devices: [DeviceRegistration]) async throws -> [RegisteredDevice] {
        guard !devices.isEmpty else { return [] }
        let result = try await turn.take {
            let (identities, now) = (identities, now())
            let result = try await database.write {
                try Registration.run(devices, identities, at: now, in: $0)
            }
            unknown.written(result.active)
            unknown.written(result.replaced)
            for device in result.active { gone.remove(device) }
            for device in result.replaced { gone.insert(device) }
            state.withLock { $0.status.unregistered -= result.nowRegistered }
            return result
        }
        await publish(result.events)
        return result.outcomes
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
        let now = now()
        let active = try await database.read { snapshot in
            try Device.find(Array(Set(devices)), in: snapshot).filter(\.isActive)
        }
        let marks = active.compactMap { device in
            AppID(device.app).map {
                Deactivation(device: device.deviceId, app: $0, reason: reason, evidence: now, time: now)
            }
        }
        guard !marks.isEmpty else { return [] }
        // The event first: what it says is done in any case, now or when the registry is opened again.
        guard await note(marks.map(\.event)) != nil else {
            throw RegistryError(
                .cannotPublish, "the ledger does not take events, so nothing was deactivated: see what its log says")
        }
        try await apply(marks, upTo: nil)
        return marks.map(\.device)
    }
}
