import PushModel
import PushTime
import PushWire

/// A `device.deactivated` event.
struct RecordedDeactivation: Sendable {
    let content: Deactivation
    /// The time at which the event was written, by the clock that also dates registrations.
    let time: WallTime
    /// What takes the place of an erased user; nil if the event is read again, which does not say it.
    let pseudonym: String?

    init(of content: Deactivation, at time: WallTime, pseudonym: String? = nil) {
        self.content = content
        self.time = time
        self.pseudonym = pseudonym
    }

    /// Returns whether the event applies to the device. A device that was seen later is active. The earlier of the two
    /// times counts, because the provider's clock may be ahead. An inactive device is not deactivated again, but it can
    /// be erased.
    func concerns(_ device: Device) -> Bool {
        (content.erases || device.isActive)
            && (device.lastSeen ?? .distantPast) <= min(content.evidence, time)
            && (device.reactivatedAt ?? .distantPast) < time
    }

    /// Returns whether the event says of an active device that it is inactive, and no later event says otherwise: the
    /// device registered between the look-up of it and the event, or before the event was applied.
    func isUnanswered(by device: Device) -> Bool {
        guard device.isActive, !concerns(device) else { return false }
        return max(device.registeredAt ?? .distantPast, device.reactivatedAt ?? .distantPast) < time
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
        /// Those among the inactive devices of which nothing is left but their ids.
        var emptied: [DeviceID] = []
        /// The devices that were removed or emptied by this.
        var left: [(device: DeviceID, change: SharedOwnerChanges.Change)] = []
        /// What monitors must learn of devices that stay active.
        var events: [EventDraft] = []
    }

    let marks: [RecordedDeactivation]
    private let now: WallTime

    init(_ marks: [RecordedDeactivation], at now: WallTime) {
        self.marks = marks
        self.now = now
    }

    /// The devices that must be read before the decision.
    var ids: Set<DeviceID> { Set(marks.map(\.content.device)) }

    /// Those of them whose tags must be read.
    var tagged: Set<DeviceID> { Set(marks.filter(\.content.isErasure).map(\.content.device)) }

    func decide(_ devices: inout DeviceChanges) -> Result {
        var touched: [DeviceID] = []
        var seen: Set<DeviceID> = []
        var result = Result()
        for mark in marks {
            let id = mark.content.device
            if seen.insert(id).inserted { touched.append(id) }
            if let device = devices[id]?.after, mark.isUnanswered(by: device) {
                result.events.append(answer(to: mark, about: device, in: &devices))
            } else {
                decide(mark, for: id, in: &devices)
            }
        }
        for id in touched {
            if let change = devices[id], let before = change.before {
                if change.isErased || change.after == nil {
                    result.left.append((id, .removed))
                } else if change.after?.isEmptied == true, !before.isEmptied {
                    result.left.append((id, .erased))
                }
            }
            // A device without a row was already removed by another event, but a removal may have held it since.
            guard let device = devices[id]?.after else {
                result.erased.append(id)
                continue
            }
            if device.isActive { result.spared.append(id) } else { result.devices.append(id) }
            if device.isEmptied { result.emptied.append(id) }
        }
        return result
    }

    /// Returns the event of a device that stays active. It is written once, also if the mark is read again.
    private func answer(
        to mark: RecordedDeactivation, about device: Device, in devices: inout DeviceChanges
    ) -> EventDraft {
        if var change = devices[device.deviceId], mark.time <= now + AgeClock.tolerance {
            change.after?.reactivatedAt = mark.time
            devices.put(change, for: device.deviceId)
        }
        return EventDraft(.deviceReactivated, of: device, app: mark.content.app)
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
        if mark.content.isErasure {
            // The event may be applied from the log first, which does not say the pseudonym.
            if before.isEmptied, mark.pseudonym == nil || before.user != nil { return }
            change.after = before.emptied(by: mark)
            change.tags = []
        } else if mark.content.erases {
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
    /// Whether the user was erased, and with it all data but the id.
    var isEmptied: Bool { !isActive && reason == Deactivation.erased && token.token == nil }

    /// Returns what stays of the device.
    fileprivate func emptied(by mark: RecordedDeactivation) -> Device {
        var device = Device(deviceId, app: mark.content.app, token: nil)
        (device.objectId, device.kind, device.isKindStated) = (objectId, kind, isKindStated)
        device.user = mark.pseudonym
        device.deactivate(by: mark)
        return device
    }

    fileprivate mutating func deactivate(by mark: RecordedDeactivation) {
        deactivatedAt = mark.time
        reason = mark.content.reason ?? ""
        evidence = mark.content.evidence
    }
}

extension LogSegment {
    func deactivations(since: UInt64, into marks: inout [RecordedDeactivation]) throws(DamagedSegment) {
        guard mayDeactivate else { return }
        try entries(since: since) { entry in
            if let content = entry.deactivation {
                marks.append(RecordedDeactivation(of: content, at: entry.event.time))
            }
            return true
        }
    }
}
