package import PushModel
package import PushTime

extension SQLiteRegistry {
    package func register(_ devices: [DeviceRegistration]) async throws -> [RegisteredDevice] {
        try await enroll(devices)
    }

    package func deactivate(_ devices: [DeviceID], reason: String) async throws -> [DeviceID] {
        try await end(devices, reason: reason, erasing: false)
    }

    package func reactivate(_ devices: [DeviceID]) async throws -> [DeviceID] { try await activate(devices) }

    package func remove(_ devices: [DeviceID]) async throws -> [DeviceID] {
        try await end(devices, reason: Deactivation.removed, erasing: true)
    }

    package func erase(_ devices: [DeviceID], as pseudonym: String) async throws -> [DeviceID] {
        try await end(devices, reason: Deactivation.erased, erasing: true, as: pseudonym)
    }

    /// Truncates the write-ahead log, which may have earlier states of pages. Deleted content in the file itself is
    /// overwritten at once.
    package func wipe() async throws { try await database.checkpoint(.truncate) }

    package func updated(_ devices: [DeviceID]) { updated.add(devices, at: now()) }

    package func tidyActivities(at age: WallTime) async throws -> Bool { try await tidy(at: age) }

    package func publishOwed() async { await tellOwed() }

    // MARK: Access to the file

    func activities(_ which: ActivityState, since time: WallTime) async throws -> [DeviceID] {
        try await database.read { try Device.activities(which, since: time).all(in: $0).map(\.deviceId) }
    }

    func change<Outcome: Sendable>(
        _ ids: Set<DeviceID>, tagged: Set<DeviceID>, installations: Set<Installation>?,
        _ decide: @escaping @Sendable (inout DeviceChanges) -> Outcome
    ) async throws -> (Outcome, DeviceChanges) {
        let (outcome, changes) = try await database.change(among: files) { transaction in
            var changes = try DeviceChanges(ids, tagged: tagged, installations: installations, in: transaction)
            let outcome = decide(&changes)
            try changes.write(in: transaction)
            return (outcome, changes)
        }
        written(changes)
        return (outcome, changes)
    }

    /// Counts written devices, and forgets that they were unknown.
    func written(_ changes: DeviceChanges) {
        unknown.written(changes.order)
        let counts = changes.counts
        state.withLock { state in
            state.status.registered += counts.registered
            state.status.unregistered += counts.unregistered
        }
    }

    func find(_ ids: [DeviceID]) async throws -> [Device] {
        try await database.read { try Device.find(ids, in: $0) }
    }

    func lost(events: Int) { state.withLock { $0.status.unpublished += UInt64(clamping: events) } }
}
