package import PushModel
import PushPostgreSQL
import PushTime
import PushWire

/// Applying the deactivations of the log.
///
/// The owner of a part applies its events, and stores how far in the same statement. A former owner may apply the same
/// events at the same time, or the next one once more: the times of the device and of the event decide, so that this
/// changes nothing.
extension PostgreSQLRegistry {
    package func apply(_ segments: [LogSegment]) async throws {
        let applied = state.withLock { $0.applied }
        var marks: [RecordedDeactivation] = []
        var last: [Int: UInt64] = [:]
        for segment in segments {
            let part = EventNumber.part(of: segment.first)
            let since = last[part] ?? applied[part] ?? EventNumber.base(of: part)
            guard segment.last > since else { continue }
            do {
                try segment.deactivations(since: since, into: &marks)
            } catch {
                // Skip the rest of a damaged segment. The registry learns of these devices again when they are sent to.
                state.withLock { $0.status.damaged += 1 }
            }
            last[part] = segment.last
        }
        if !last.isEmpty { try await apply(marks, upTo: last) }
    }

    func apply(_ marks: [RecordedDeactivation]) async throws { try await apply(marks, upTo: [:]) }

    /// The maximum number of devices in one statement.
    private static let marksAtOnce = 5000

    private func apply(_ marks: [RecordedDeactivation], upTo numbers: [Int: UInt64]) async throws {
        try await turn.take {
            var rest = marks[...]
            while rest.count > Self.marksAtOnce {
                try await write(Array(rest.prefix(Self.marksAtOnce)), upTo: [:])
                rest = rest.dropFirst(Self.marksAtOnce)
            }
            let isDue = state.withLock { state in
                numbers.contains { part, number in
                    number >= (state.marked[part] ?? EventNumber.base(of: part)) + settings.options.markEvery
                }
            }
            if !rest.isEmpty || isDue { try await write(Array(rest), upTo: numbers) }
            state.withLock { state in
                for (part, number) in numbers { state.applied[part] = max(state.applied[part] ?? 0, number) }
            }
            try await forgetOldest()
        }
    }

    private func write(_ marks: [RecordedDeactivation], upTo numbers: [Int: UInt64]) async throws {
        let batch = DeactivationBatch(marks, at: settings.now())
        let (result, _) = try await change(batch.ids, marks: numbers.map { ($0, $1) }) { batch.decide(&$0) }
        state.withLock { state in
            for (part, number) in numbers { state.marked[part] = max(state.marked[part] ?? 0, number) }
            for device in batch.ids { state.held[device] = nil }
        }
        remember(result)
    }

    // MARK: Held devices

    @discardableResult
    package func hold(_ devices: [DeviceID]) -> [DeviceID] {
        let now = RegistrySessions.now
        state.withLock { state in
            for device in devices where !gone.contains(device) { state.held[device] = now }
        }
        return devices.filter { gone.insert($0) }
    }

    package func release(_ devices: [DeviceID]) async {
        // Take a turn, so that this does not undo a concurrent decision.
        await turn.take { await recheck(devices) }
    }

    /// Holds devices as the table has them. If it cannot be read, they become active again, as they were before
    /// ``hold(_:)``.
    private func recheck(_ devices: [DeviceID]) async {
        let found = try? await find(devices)
        let dead = Set((found ?? []).filter { !$0.isActive }.map(\.deviceId))
        state.withLock { state in
            for device in devices { state.held[device] = nil }
        }
        for device in devices where !dead.contains(device) { gone.remove(device) }
    }

    /// The time for which a device is held because of an event that is not applied. Its part may have got another owner,
    /// which has applied the event and found that the device stays active.
    private static let holdsFor: Duration = .seconds(60)

    /// The caller has the turn.
    func recheckHeld() async {
        let now = RegistrySessions.now
        let old = state.withLock { $0.held.filter { now - $0.value > Self.holdsFor }.map(\.key) }
        if !old.isEmpty { await recheck(old) }
    }

    // MARK: Positions

    @discardableResult
    package func catchUp(part: Int, from log: any EventLog) async throws -> Bool {
        let results = try await sessions.read { section in
            section.call(RegistryStatements.mark) { $0.append(int4: Int32(clamping: part)) }
        }
        let stored = try results[0].rows.first { _ in true }.map { UInt64(bitPattern: try $0.value(0, as: Int64.self)) }
        state.withLock { state in
            let known = max(stored ?? 0, state.applied[part] ?? 0, EventNumber.base(of: part))
            state.applied[part] = known
            if let stored { state.marked[part] = max(state.marked[part] ?? 0, stored) }
        }
        var isWhole = true
        while true {
            let applied = state.withLock { $0.applied[part] ?? EventNumber.base(of: part) }
            let page = try await log.read(since: applied, limit: 10_000)
            if page.newest < applied {
                // This is another log: its numbers start again.
                let start = max(page.oldest, EventNumber.base(of: part) + 1) - 1
                guard start < applied else { return false }
                try await begin(part, after: start)
                isWhole = false
                continue
            }
            if page.oldest > applied + 1, page.newest > applied { isWhole = false }
            guard let last = page.segments.last?.last, last > applied else { return isWhole }
            try await apply(page.segments)
        }
    }

    private func begin(_ part: Int, after number: UInt64) async throws {
        try await turn.take {
            try await setMark(of: part, to: number)
            state.withLock { state in
                state.applied[part] = number
                state.marked[part] = number
            }
        }
    }

    private func setMark(of part: Int, to number: UInt64) async throws {
        let reply = await sessions.write(within: .seconds(10)) { section in
            section.call(RegistryStatements.setMark) { parameters in
                parameters.append(int4: Int32(clamping: part))
                parameters.append(int8: Int64(bitPattern: number))
            }
        }
        try sessions.check(reply)
    }

    /// Stores how far the logs are applied. The caller has the turn.
    func writeMarks() async throws {
        let numbers = state.withLock { state in
            state.applied.filter { $0.value > (state.marked[$0.key] ?? EventNumber.base(of: $0.key)) }
        }
        if !numbers.isEmpty { try await write([], upTo: numbers) }
    }

    /// Removes the oldest devices that were never registered, if there are too many: those beyond the limit and a
    /// twentieth more. The caller has the turn.
    func forgetOldest() async throws {
        let (count, limit) = (state.withLock { $0.status.unregistered }, settings.options.unregisteredLimit)
        guard count > limit else { return }
        let excess = Int64(min(count - limit + limit / 20, 100_000))
        let slot = slot
        let reply = await sessions.write(within: .seconds(30)) { section in
            section.call(RegistryStatements.forget) { parameters in
                parameters.append(int8: excess)
                parameters.append(int4: slot)
            }
            section.call(RegistryStatements.counts)
        }
        let results = try sessions.check(reply)
        for row in results[0].rows { gone.remove(try row.deviceID(0)) }
        try takeCounts(results[1])
    }
}
