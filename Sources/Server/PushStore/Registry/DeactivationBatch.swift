import PushModel
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

/// Decides what `device.deactivated` events change. To apply an event twice, or at two nodes at once, has the same
/// effect as to apply it once.
struct DeactivationBatch: Sendable {
    /// What memory must know.
    struct Result: Sendable {
        /// Devices that are inactive.
        var devices: [DeviceID] = []
        /// Devices that were seen after the time of the evidence, and therefore stay active.
        var spared: [DeviceID] = []
        /// Devices that do not exist any more.
        var erased: [DeviceID] = []
    }

    let marks: [RecordedDeactivation]
    private let now: WallTime

    init(_ marks: [RecordedDeactivation], at now: WallTime) {
        self.marks = marks
        self.now = now
    }

    /// The devices that must be read before the decision.
    var ids: Set<DeviceID> { Set(marks.map(\.content.device)) }

    func decide(_ devices: inout DeviceChanges) -> Result {
        var touched: [DeviceID] = []
        var seen: Set<DeviceID> = []
        for mark in marks {
            let id = mark.content.device
            if seen.insert(id).inserted { touched.append(id) }
            decide(mark, for: id, in: &devices)
        }
        var result = Result()
        for id in touched {
            // A device without a row was already removed by another event, but a removal may have held it since.
            guard let device = devices[id]?.after else {
                result.erased.append(id)
                continue
            }
            if device.isActive { result.spared.append(id) } else { result.devices.append(id) }
        }
        return result
    }

    private func decide(_ mark: RecordedDeactivation, for id: DeviceID, in devices: inout DeviceChanges) {
        guard var change = devices[id], let before = change.after else {
            if mark.content.erases { return }
            // The address of a Live Activity was removed a day after its end.
            if mark.content.isEndOfActivity, mark.time + ActivityUpkeep.keeps <= now { return }
            var device = Device(id, app: mark.content.app, token: nil)
            device.deactivate(by: mark)
            var change = devices[id] ?? DeviceChange(new: device)
            change.after = device
            devices.put(change, for: id)
            return
        }
        guard mark.concerns(before) else { return }
        if mark.content.erases {
            change.after = nil
            change.tags = []
            change.isErased = true
        } else {
            var device = before
            device.deactivate(by: mark)
            change.after = device
        }
        devices.put(change, for: id)
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
    func deactivations(since: UInt64, into marks: inout [RecordedDeactivation]) throws(DamagedSegment) {
        try entries(since: since) { entry in
            if let content = entry.deactivation {
                marks.append(RecordedDeactivation(of: content, at: entry.event.time))
            }
            return true
        }
    }
}
