import ActiveObject
package import PushModel
import PushWire

/// What an event `device.deactivated` says.
struct Deactivation: Sendable {
    let device: DeviceID
    let app: AppID
    let reason: String
    /// The moment of which it is known that the device was gone.
    let evidence: Int64
    /// When the event was written, by the clock that registrations have.
    let time: Int64
    /// Whether the row goes, with all that is in it.
    var erases = false

    /// The reason in the deactivation event of an erased device.
    static let removed = "removed"

    var event: EventDraft { .deactivated(device, app: app, reason: reason, evidence: evidence, erases: erases) }

    /// Who was seen later is alive. Of the two clocks the one that says less counts: the provider's may be ahead. An
    /// inactive device is not deactivated again, but it can be erased.
    func concerns(_ device: Device) -> Bool {
        (erases || device.isActive) && (device.lastSeen ?? .min) <= min(evidence, time)
    }
}

extension Registry {
    /// Acts on the events that monitors see too. Those that were applied before do nothing; the segments come in order.
    package func apply(_ segments: [LogSegment]) async throws {
        let applied = state.withLock { $0.status.applied }
        var marks: [Deactivation] = []
        var last = applied
        for segment in segments where segment.last > applied {
            do {
                try segment.deactivations(since: applied, into: &marks)
            } catch {
                // What was in the rest of it is learned again.
                state.withLock { $0.status.damaged += 1 }
            }
            last = max(last, segment.last)
        }
        guard last > applied else { return }
        try await apply(marks, upTo: last)
    }

    /// - Parameter number: of the last event that is applied with this; nil for what was not read from the log.
    func apply(_ marks: [Deactivation], upTo number: UInt64?) async throws {
        try await turn.take {
            let marked = state.withLock { $0.marked }
            let isDue = number.map { $0 >= marked + options.markEvery } ?? false
            if !marks.isEmpty || isDue {
                let result = try await database.write { transaction in
                    let result = try Deactivation.run(marks, in: transaction)
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
        // In its turn, so that it is not undone what somebody else decides meanwhile.
        await turn.take {
            // Where the file cannot be read, they are what they were before: not gone.
            let found = try? await database.read { try Device.find(devices, in: $0) }
            let dead = Set((found ?? []).filter { !$0.isActive }.map(\.deviceId))
            for device in devices where !dead.contains(device) { gone.remove(device) }
        }
    }

    /// Applies what was written while the registry was not there. Returns whether the log still had all of it.
    @discardableResult
    package func catchUp(from log: any EventLog) async throws -> Bool {
        var isWhole = true
        while true {
            let applied = state.withLock { $0.status.applied }
            let page = try await log.read(since: applied, limit: 10_000)
            if page.newest < applied {
                // It is another log, or an older copy of this one: its numbers begin again.
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

    /// In its turn.
    func writeMark() async throws {
        let (applied, marked) = state.withLock { ($0.status.applied, $0.marked) }
        guard applied > marked else { return }
        try await database.write { try Self.mark(applied, in: $0) }
        state.withLock { $0.marked = applied }
    }

    private static func mark(_ number: UInt64, in transaction: Transaction) throws {
        try AppliedMark.upsertAll([AppliedMark(number)], on: \.objectId, in: transaction)
    }

    /// Of the devices that nobody registered, those that have been there longest, beyond the limit and a twentieth more:
    /// to find them is a look at many rows.
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

extension Deactivation {
    struct Result: Sendable {
        var devices: [DeviceID] = []
        /// Those that were seen after the moment that the event speaks of: they are alive.
        var spared: [DeviceID] = []
        /// The change in the number of devices that were never registered.
        var unregistered = 0
        var erased: [DeviceID] = []
        var erasedRegistered = 0
    }

    static func run(_ marks: [Deactivation], in transaction: Transaction) throws -> Result {
        var result = Result()
        let ids = Set(marks.map(\.device))
        var known = Dictionary(try Device.find(Array(ids), in: transaction).map { ($0.deviceId, $0) }) { one, _ in one }
        var fresh: [Device] = []
        for mark in marks {
            guard let before = known[mark.device] else {
                if mark.erases {
                    // Another removal came first, and this one has held the device since.
                    result.erased.append(mark.device)
                    continue
                }
                var device = Device(mark.device, app: mark.app, token: nil)
                device.deactivate(by: mark)
                fresh.append(device)
                known[mark.device] = device
                result.devices.append(mark.device)
                continue
            }
            guard mark.concerns(before) else {
                if before.isActive { result.spared.append(mark.device) }
                continue
            }
            if mark.erases {
                try erase(before, in: transaction, &result)
                fresh.removeAll { $0.deviceId == mark.device }
                known[mark.device] = nil
                continue
            }
            var device = before
            device.deactivate(by: mark)
            try device.save(changedSince: before, in: transaction)
            known[mark.device] = device
            result.devices.append(mark.device)
        }
        try fresh.saveAll(in: transaction)
        result.unregistered += fresh.count
        return result
    }

    private static func erase(_ device: Device, in transaction: Transaction, _ result: inout Result) throws {
        result.devices.removeAll { $0 == device.deviceId }
        result.erased.append(device.deviceId)
        // It belongs to the same group and is not in the file yet.
        guard let row = device.objectId else { return }
        try DeviceTag.remove(where: \.device == row, in: transaction)
        try Device.remove(where: \.deviceId == device.deviceId, in: transaction)
        if device.registeredAt == nil { result.unregistered -= 1 } else { result.erasedRegistered += 1 }
    }
}

extension Device {
    fileprivate mutating func deactivate(by mark: Deactivation) {
        deactivatedAt = mark.time
        reason = mark.reason
        evidence = mark.evidence
    }
}

extension LogSegment {
    fileprivate func deactivations(since: UInt64, into marks: inout [Deactivation]) throws {
        try unsafe walk(since: since) { event, apps, bytes in
            if event.kind == .deviceDeactivated, let device = event.device, let app = event.app {
                let reason = event.reason.map { unsafe String(decoding: bytes[$0], as: UTF8.self) }
                let details = event.details.map { unsafe Array(bytes[$0]) }
                let document = details.flatMap(Self.members)
                var mark = Deactivation(
                    device: device, app: apps[app], reason: reason ?? "",
                    evidence: document.flatMap { Self.evidence($0) } ?? event.time, time: event.time)
                mark.erases = document.map { Self.flag("erased", $0) } ?? false
                marks.append(mark)
            }
            return true
        }
    }

    /// The members of the event that only its kind has.
    private static func members(_ details: [UInt8]) -> JSONDocument? {
        try? JSONDocument([UInt8(ascii: "{")] + details + [UInt8(ascii: "}")])
    }

    private static func flag(_ name: StaticString, _ document: JSONDocument) -> Bool {
        document.value(name, in: document.root).flatMap { document.bool($0) } ?? false
    }

    /// `time` among them.
    private static func evidence(_ document: JSONDocument) -> Int64? {
        document.value("time", in: document.root).flatMap { document.integer($0) }
    }
}
