import ActiveObject
package import PushModel
import PushTime
import PushWire

/// A `device.deactivated` event.
struct RecordedDeactivation: Sendable {
    let content: Deactivation
    /// The time at which the event was written, by the clock that also dates registrations.
    let time: WallTime

    init(of content: Deactivation, at time: WallTime) {
        self.content = content
        self.time = time
    }

    /// Returns whether the event applies to the device. A device that was seen later is active. The earlier of the two
    /// times counts, because the provider's clock may be ahead. An inactive device is not deactivated again, but it can
    /// be erased.
    func concerns(_ device: Device) -> Bool {
        (content.erases || device.isActive)
            && (device.lastSeen ?? .distantPast) <= min(content.evidence, time)
            && (device.reactivatedAt ?? .distantPast) < time
    }
}

extension SQLiteRegistry {
    package func apply(_ segments: [LogSegment]) async throws {
        let applied = state.withLock { $0.status.applied }
        var marks: [RecordedDeactivation] = []
        var last = applied
        for segment in segments where segment.last > applied {
            do {
                try segment.deactivations(since: applied, into: &marks)
            } catch {
                // Skip the rest of a damaged segment. The registry learns of these devices again when they are sent to.
                state.withLock { $0.status.damaged += 1 }
            }
            last = max(last, segment.last)
        }
        guard last > applied else { return }
        try await apply(marks, upTo: last)
    }

    /// - Parameter number: the number of the last event that this applies; nil if the marks do not come from the log.
    func apply(_ marks: [RecordedDeactivation], upTo number: UInt64?) async throws {
        try await turn.take {
            let marked = state.withLock { $0.marked }
            let isDue = number.map { $0 >= marked + options.markEvery } ?? false
            if !marks.isEmpty || isDue {
                let result = try await database.change { transaction in
                    let result = try RecordedDeactivation.run(marks, in: transaction)
                    if let number { try Self.mark(number, in: transaction) }
                    return result
                }
                unknown.written(result.devices + result.erased)
                for device in result.spared { gone.remove(device) }
                for device in result.devices { gone.insert(device) }
                for device in result.erased { gone.remove(device) }
                state.withLock { state in
                    state.status.unregistered += result.unregistered
                    state.status.registered -= result.erasedRegistered
                    if let number { state.marked = max(state.marked, number) }
                }
            }
            if let number { state.withLock { $0.status.applied = max($0.status.applied, number) } }
            try await forgetOldest()
        }
    }

    @discardableResult
    package func hold(_ devices: [DeviceID]) -> [DeviceID] { devices.filter { gone.insert($0) } }

    package func release(_ devices: [DeviceID]) async {
        // Take a turn, so that this does not undo a concurrent decision.
        await turn.take {
            // If the file cannot be read, the devices become active again, as they were before `hold`.
            let found = try? await database.read { try Device.find(devices, in: $0) }
            let dead = Set((found ?? []).filter { !$0.isActive }.map(\.deviceId))
            for device in devices where !dead.contains(device) { gone.remove(device) }
        }
    }

    @discardableResult
    package func catchUp(part: Int, from log: any EventLog) async throws -> Bool {
        var isWhole = true
        while true {
            let applied = state.withLock { $0.status.applied }
            let page = try await log.read(since: applied, limit: 10_000)
            if page.newest < applied {
                // This is another log or an older copy of it: its numbers start again.
                try await begin(after: page.oldest == 0 ? 0 : page.oldest - 1)
                isWhole = false
                continue
            }
            if page.oldest > applied + 1, page.newest > applied { isWhole = false }
            guard let last = page.segments.last?.last, last > applied else { return isWhole }
            try await apply(page.segments)
        }
    }

    private func begin(after number: UInt64) async throws {
        try await turn.take {
            try await database.write { try Self.mark(number, in: $0) }
            state.withLock { state in
                state.status.applied = number
                state.marked = number
            }
        }
    }

    /// Stores the number of the last applied event. The caller must have the turn.
    func writeMark() async throws {
        let (applied, marked) = state.withLock { ($0.status.applied, $0.marked) }
        guard applied > marked else { return }
        try await database.write { try Self.mark(applied, in: $0) }
        state.withLock { $0.marked = applied }
    }

    private static func mark(_ number: UInt64, in transaction: Transaction) throws {
        try AppliedMark.upsertAll([AppliedMark(number)], on: \.objectId, in: transaction)
    }

    /// Removes the oldest devices that were never registered, if there are too many: those beyond the limit and a
    /// twentieth more, because the search reads many rows.
    private func forgetOldest() async throws {
        let (count, limit) = (state.withLock { $0.status.unregistered }, options.unregisteredLimit)
        guard count > limit else { return }
        let excess = count - limit + limit / 20
        let forgotten = try await database.write { transaction in
            var devices = try Device.where(\.registeredAt == nil).limit(excess).all(in: transaction)
            let ids = devices.map(\.deviceId)
            try devices.removeAll(in: transaction)
            return ids
        }
        for device in forgotten { gone.remove(device) }
        state.withLock { $0.status.unregistered -= forgotten.count }
    }
}

extension RecordedDeactivation {
    struct Result: Sendable {
        var devices: [DeviceID] = []
        /// Devices that were seen after the time of the evidence, and therefore stay active.
        var spared: [DeviceID] = []
        /// The change in the number of devices that were never registered.
        var unregistered = 0
        var erased: [DeviceID] = []
        var erasedRegistered = 0
    }

    static func run(_ marks: [RecordedDeactivation], in transaction: Transaction) throws -> Result {
        var result = Result()
        let ids = Set(marks.map(\.content.device))
        var known = Dictionary(try Device.find(Array(ids), in: transaction).map { ($0.deviceId, $0) }) { one, _ in one }
        var fresh: [Device] = []
        for mark in marks {
            guard let before = known[mark.content.device] else {
                if mark.content.erases {
                    // The device was already removed by another event, but this removal has held it since.
                    result.erased.append(mark.content.device)
                    continue
                }
                var device = Device(mark.content.device, app: mark.content.app, token: nil)
                device.deactivate(by: mark)
                fresh.append(device)
                known[mark.content.device] = device
                result.devices.append(mark.content.device)
                continue
            }
            guard mark.concerns(before) else {
                if before.isActive { result.spared.append(mark.content.device) }
                continue
            }
            if mark.content.erases {
                try erase(before, in: transaction, &result)
                fresh.removeAll { $0.deviceId == mark.content.device }
                known[mark.content.device] = nil
                continue
            }
            var device = before
            device.deactivate(by: mark)
            try device.save(changedSince: before, in: transaction)
            known[mark.content.device] = device
            result.devices.append(mark.content.device)
        }
        try fresh.saveAll(in: transaction)
        result.unregistered += fresh.count
        return result
    }

    private static func erase(_ device: Device, in transaction: Transaction, _ result: inout Result) throws {
        result.devices.removeAll { $0 == device.deviceId }
        result.erased.append(device.deviceId)
        // A device without a row was added by this group and is not yet in the file.
        guard let row = device.objectId else { return }
        try DeviceTag.remove(where: \.device == row, in: transaction)
        try Device.remove(where: \.deviceId == device.deviceId, in: transaction)
        if device.registeredAt == nil { result.unregistered -= 1 } else { result.erasedRegistered += 1 }
    }
}

extension Device {
    fileprivate mutating func deactivate(by mark: RecordedDeactivation) {
        deactivatedAt = mark.time
        reason = mark.content.reason ?? ""
        evidence = mark.content.evidence
    }
}

extension LogSegment {
    fileprivate func deactivations(
        since: UInt64, into marks: inout [RecordedDeactivation]
    ) throws(DamagedSegment) {
        try entries(since: since) { entry in
            if let content = entry.deactivation {
                marks.append(RecordedDeactivation(of: content, at: entry.event.time))
            }
            return true
        }
    }
}
