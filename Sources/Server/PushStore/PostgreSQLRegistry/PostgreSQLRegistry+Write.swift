import PushModel
import PushPostgreSQL
import PushTime

/// Writing devices, at whatever time the database or another node interferes.
extension PostgreSQLRegistry {
    func change<Outcome: Sendable>(
        _ ids: Set<DeviceID>, tagged: Set<DeviceID>,
        _ decide: @escaping @Sendable (inout DeviceChanges) -> Outcome
    ) async throws -> (Outcome, DeviceChanges) {
        try await change(ids, marks: [], decide)
    }

    /// - Parameter marks: how far the logs of parts are applied with this write.
    func change<Outcome: Sendable>(
        _ ids: Set<DeviceID>, marks: [(part: Int, number: UInt64)],
        _ decide: (inout DeviceChanges) -> Outcome
    ) async throws -> (Outcome, DeviceChanges) {
        let deadline = RegistrySessions.now + settings.patience
        var version = Int64.random(in: 1 ... .max)
        // The last attempt that may have been carried out.
        var doubtful: (Outcome, DeviceChanges)?
        var reason = "other nodes change the same devices"
        var isFirst = true
        while isFirst || RegistrySessions.now < deadline {
            if !isFirst { await sessions.pause(.milliseconds(.random(in: 1...20))) }
            isFirst = false
            guard let rows = try await stored(ids, by: deadline, isDoubtful: doubtful != nil) else { break }
            let versions = Dictionary(rows.map { ($0.device.deviceId, $0.version) }, uniquingKeysWith: { $1 })
            var devices = DeviceChanges()
            for row in rows { devices.add(row.device, tags: row.tags) }
            let decided: (Outcome, DeviceChanges)
            let isAgain = rows.contains { $0.version == version }
            if let doubtful, isAgain {
                // The attempt was carried out. It is written once more: a commit that is visible need not be on the
                // standby yet, and the next one waits for it.
                decided = doubtful
            } else {
                let outcome = decide(&devices)
                decided = (outcome, devices)
            }
            let write = DeviceWrite(
                decided.1, versions: versions, version: version, isAgain: isAgain, slot: slot, marks: marks)
            if write.isEmpty, doubtful == nil { return decided }
            switch await sessions.write(within: attempt(until: deadline), { write.call(on: $0) }) {
            case .done(let results):
                if try take(results) { return decided }
                // An earlier attempt was not carried out, or another node has changed its devices since.
                version = Int64.random(in: 1 ... .max)
                doubtful = nil
                reason = "other nodes change the same devices"
            case .refused(let failure):
                reason = try passing(failure, isDoubtful: doubtful != nil) ?? reason
            case .unknown(let text):
                doubtful = decided
                reason = text
            case .notSent(let text):
                reason = text
                await sessions.pause(.milliseconds(30))
            }
            if state.withLock({ $0.isClosed }) { break }
        }
        throw doubtful == nil ? sessions.unavailable(reason) : unconfirmed(reason)
    }

    /// Returns the reason of a refusal that may pass, or nil if other nodes change the same devices.
    private func passing(_ failure: PostgreSQLFailure, isDoubtful: Bool) throws -> String? {
        if failure.sqlState == .uniqueViolation { return nil }
        guard failure.sqlState.mayPassForRegistry else {
            throw isDoubtful ? unconfirmed("\(failure)") : sessions.failure("\(failure)")
        }
        return "\(failure)"
    }

    private func unconfirmed(_ reason: String) -> RegistryError {
        RegistryError(
            .unavailable,
            "the database did not confirm a change of devices, which may have been carried out: \(reason); repeat it")
    }

    /// The time for one attempt. The rest is for another one.
    private func attempt(until deadline: MonotonicTime) -> Duration {
        let left = deadline - RegistrySessions.now
        return max(.milliseconds(100), min(.seconds(10), left))
    }

    /// Reads devices; nil if the time is over.
    private func stored(
        _ ids: Set<DeviceID>, by deadline: MonotonicTime, isDoubtful: Bool
    ) async throws -> [DeviceRow]? {
        if ids.isEmpty { return [] }
        do {
            let results = try await sessions.read(isOrdered: true, until: deadline) { section in
                section.call(RegistryStatements.devices) { $0.append(ids: ids) }
            }
            return try results[0].rows.map { try DeviceRow($0) }
        } catch let error as RegistryError where error.code == .unavailable && isDoubtful {
            return nil
        }
    }

    /// Takes the results of a write. Returns whether it was carried out.
    private func take(_ results: [PostgreSQLResult]) throws -> Bool {
        guard let counts = results.last, try results[0].row().value(0, as: Bool.self) else { return false }
        try takeCounts(counts)
        return true
    }

    func takeCounts(_ result: PostgreSQLResult) throws {
        let row = try result.row()
        let registered = Int(try row.value(0, as: Int64.self))
        let unregistered = Int(try row.value(1, as: Int64.self))
        state.withLock { state in
            state.status.registered = registered
            state.status.unregistered = unregistered
        }
    }
}
