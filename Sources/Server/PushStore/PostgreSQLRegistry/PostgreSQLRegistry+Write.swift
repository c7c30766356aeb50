import PushModel
import PushPostgreSQL
import PushTime

/// Writing devices, at whatever time the database or another node interferes.
extension PostgreSQLRegistry {
    func change<Outcome: Sendable>(
        _ ids: Set<DeviceID>, tagged: Set<DeviceID>, installations: Set<Installation>?,
        _ decide: @escaping @Sendable (inout DeviceChanges) -> Outcome
    ) async throws -> (Outcome, DeviceChanges) {
        try await change(ids, installations, marks: [], decide)
    }

    /// - Parameter marks: how far the logs of parts are applied with this write.
    func change<Outcome: Sendable>(
        _ ids: Set<DeviceID>, _ installations: Set<Installation>? = nil, marks: [(part: Int, number: UInt64)],
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
            guard let read = try await stored(ids, in: installations, by: deadline, isDoubtful: doubtful != nil)
            else { break }
            var devices = read.changes
            let decided: (Outcome, DeviceChanges)
            let isAgain = read.rows.values.contains { $0.version == version }
            if let doubtful, isAgain {
                // The attempt was carried out. It is written once more: a commit that is visible need not be on the
                // standby yet, and the next one waits for it.
                decided = doubtful
            } else {
                let outcome = decide(&devices)
                decided = (outcome, devices)
            }
            let write = DeviceWrite(
                decided.1, read: read, version: version, isAgain: isAgain, slot: slot, marks: marks)
            if write.isEmpty, doubtful == nil { return decided }
            switch await sessions.write(within: attempt(until: deadline), { write.call(on: $0) }) {
            case .done(let results):
                if try take(results, at: write.resultIndex) { return decided }
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
        _ ids: Set<DeviceID>, in installations: Set<Installation>?, by deadline: MonotonicTime, isDoubtful: Bool
    ) async throws -> ReadDevices? {
        if ids.isEmpty { return ReadDevices() }
        do {
            var wanted = installations ?? []
            while true {
                let read = try await read(ids, in: Array(wanted), by: deadline)
                // The installations of the devices are known only now.
                let more = installations == nil ? [] : Set(read.rows.values.compactMap(\.device.home))
                if more.isSubset(of: wanted) { return read }
                wanted.formUnion(more)
            }
        } catch let error as RegistryError where error.code == .unavailable && isDoubtful {
            return nil
        }
    }

    private func read(
        _ ids: Set<DeviceID>, in installations: [Installation], by deadline: MonotonicTime
    ) async throws -> ReadDevices {
        let results = try await sessions.read(isOrdered: true, until: deadline) { section in
            section.call(RegistryStatements.devices) { $0.append(ids: ids) }
            guard !installations.isEmpty else { return }
            section.call(RegistryStatements.members) { ReadInstallations(installations, members: []).append(to: &$0) }
        }
        let devices = try results[0].rows.map { try DeviceRow($0) }
        let members = results.count > 1 ? try results[1].rows.map { try DeviceRow($0) } : []
        return ReadDevices(devices, members: members, of: installations)
    }

    /// Takes the results of a write. Returns whether it was carried out.
    private func take(_ results: [PostgreSQLResult], at index: Int) throws -> Bool {
        guard let counts = results.last, index < results.count, try results[index].row().value(0, as: Bool.self) else {
            return false
        }
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
