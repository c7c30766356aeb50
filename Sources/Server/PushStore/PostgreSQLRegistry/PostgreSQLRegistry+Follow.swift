package import PushModel
import PushPostgreSQL
import PushTime

/// Following the changes of other nodes.
extension PostgreSQLRegistry {
    package func suppress(erased devices: [DeviceID]) {
        for device in devices {
            gone.insert(device)
            if emptied.insert(device) { owners.note(.erased, of: device) }
        }
    }

    /// Starts to read what other nodes have changed, unless that is under way.
    func followSoon() {
        let mustStart = state.withLock { state in
            if state.isFollowing || state.isClosed { return false }
            state.isFollowing = true
            return true
        }
        guard mustStart else { return }
        Task {
            do {
                try await follow()
            } catch {
                if !state.withLock({ $0.isClosed }) { settings.failed(error) }
            }
            state.withLock { $0.isFollowing = false }
        }
    }

    /// Reads what other nodes have changed.
    func follow() async throws {
        // A write of this node must not come between the reading and its effect.
        try await turn.take {
            let opening = sessions.openingCount
            let now = RegistrySessions.now
            if let position = state.withLock({ $0.following.position(at: now, opening: opening) }) {
                try await followChanges(since: position, at: now)
            } else {
                try await recall(at: now, opening: opening)
            }
            await recheckHeld()
        }
        try await keyBook.follow()
    }

    /// The maximum number of changes that are read at once. With more, reading all inactive devices is cheaper.
    private static let changesAtOnce = 500_000

    private func followChanges(since position: FollowedChanges.Position, at now: MonotonicTime) async throws {
        let results = try await sessions.read(isOrdered: true) { section in
            section.call(RegistryStatements.snapshot)
            Self.callChanges(since: position, on: section)
            section.call(RegistryStatements.counts)
        }
        guard results.count == 3 else { throw sessions.failure("the answer has \(results.count) results; expected 3") }
        guard results[1].rowCount <= Self.changesAtOnce else {
            return try await recall(at: now, opening: position.opening)
        }
        try take(changes: results[1])
        try takeCounts(results[2])
        try await advance(to: Self.position(results[0], at: now, opening: position.opening))
    }

    private static func callChanges(since position: FollowedChanges.Position, on section: PostgreSQLSection) {
        section.call(RegistryStatements.changes) { parameters in
            parameters.append(int8: position.next)
            parameters.append(int8Array: position.open)
            parameters.append(int8: Int64(changesAtOnce) + 1)
        }
    }

    private static func position(
        _ result: PostgreSQLResult, at now: MonotonicTime, opening: Int
    ) throws -> FollowedChanges.Position {
        let row = try result.row()
        return FollowedChanges.Position(
            oldest: try row.value(0), next: try row.value(1), open: try row.value(2), time: now, opening: opening)
    }

    private func take(changes: PostgreSQLResult) throws {
        let held = state.withLock { $0.held }
        for row in changes.rows {
            let device = try row.deviceID(0)
            // A device without a row was removed.
            if try row.value(1, as: Bool.self) {
                gone.insert(device)
            } else if held[device] == nil {
                gone.remove(device)
            }
            if try row.value(2, as: Bool.self) { others.insert(device) } else { others.remove(device) }
            if try !row.value(5, as: Bool.self) {
                emptied.remove(device)
            } else if emptied.insert(device) {
                owners.note(.erased, of: device)
            }
            guard let app = try row.optional(3, as: String.self) else {
                owners.note(.removed, of: device)
                continue
            }
            if let activity = try row.text(4) { activityObserver.tell(app: app, activity: activity) }
        }
    }

    private func advance(to position: FollowedChanges.Position) async throws {
        guard let oldest = state.withLock({ $0.following.take(position) }) else { return }
        try sessions.check(
            await sessions.write(within: .seconds(30)) { section in
                section.call(RegistryStatements.trimChanges) { $0.append(int8: oldest) }
            })
    }

    /// The maximum number of devices that are read at once.
    private static let devicesAtOnce: Int64 = 50_000

    /// Reads the devices whose state is held in memory, page by page, and then what was changed meanwhile.
    private func recall(at now: MonotonicTime, opening: Int) async throws {
        let first = try await sessions.read(isOrdered: true) { section in
            section.call(RegistryStatements.snapshot)
            section.call(RegistryStatements.counts)
        }
        guard first.count == 2 else { throw sessions.failure("the answer has \(first.count) results; expected 2") }
        let position = try Self.position(first[0], at: now, opening: opening)
        try takeCounts(first[1])
        let inactive = try await all(RegistryStatements.inactive)
        let ofErased = try await all(RegistryStatements.allEmptied)
        let ofOtherKinds = try await all(RegistryStatements.ofOtherKinds)
        let changes = try await sessions.read(isOrdered: true) { Self.callChanges(since: position, on: $0) }
        gone.replaceAll(with: inactive)
        emptied.replaceAll(with: ofErased)
        others.replaceAll(with: ofOtherKinds)
        for device in state.withLock({ Array($0.held.keys) }) { gone.insert(device) }
        try take(changes: changes[0])
        activityObserver.tell(.ofUnknown)
        _ = state.withLock { $0.following.take(position) }
    }

    /// Returns the devices that a statement finds, page by page.
    private func all(_ statement: PostgreSQLStatement) async throws -> SharedDeviceSet {
        let all = SharedDeviceSet()
        var last: DeviceID?
        while true {
            let results = try await sessions.read(isOrdered: true) { [last] section in
                section.call(statement) { parameters in
                    parameters.append(after: last)
                    parameters.append(int8: Self.devicesAtOnce)
                }
            }
            for row in results[0].rows {
                let device = try row.deviceID(0)
                all.insert(device)
                last = device
            }
            if results[0].rowCount < Int(Self.devicesAtOnce) { return all }
        }
    }
}
