import PushModel
import PushTime

/// The end of the addresses of Live Activities.
extension DeviceWriter {
    /// Stores which addresses had an update, ends those that had none for long, and removes those that ended long ago.
    /// Of each, it changes at most a page. Returns whether there may be more.
    func tidy(at age: WallTime) async throws -> Bool {
        let isMoreUpdated = try await storeUpdated()
        let silent = try await activities(.silent, since: age - ActivityUpkeep.silence)
        try await endSilent(silent, at: age)
        let ended = try await activities(.ended, since: age - ActivityUpkeep.keeps)
        try await erase(ended, at: age)
        return isMoreUpdated || max(silent.count, ended.count) >= ActivityUpkeep.pageSize
    }

    private func storeUpdated() async throws -> Bool {
        let some = updated.take(atMost: ActivityUpkeep.pageSize)
        if some.isEmpty { return false }
        let now = stamp()
        do {
            try await turn.take {
                _ = try await change(Set(some.keys), tagged: [], installations: nil) { devices in
                    for (id, time) in some {
                        guard var change = devices[id], var device = change.after, device.isActive else { continue }
                        device.replaceTimes(aheadOf: now)
                        device.seenAt = max(time, device.lastSeen ?? time)
                        guard device.activity != nil, device.seenAt != change.after?.seenAt else { continue }
                        change.after = device
                        devices.put(change, for: id)
                    }
                }
            }
        } catch {
            updated.add(some)
            throw error
        }
        return some.count >= ActivityUpkeep.pageSize
    }

    /// Ends addresses. Two nodes may do this at the same time, and only one of them publishes the event.
    private func endSilent(_ ids: [DeviceID], at age: WallTime) async throws {
        guard !ids.isEmpty else { return }
        let now = stamp()
        let events = try await turn.take {
            let (ended, _) = try await change(Set(ids), tagged: [], installations: nil) { devices in
                var ended: [Deactivation] = []
                for id in ids {
                    guard var change = devices[id], var device = change.after, let app = AppID(device.app),
                        ActivityUpkeep.isSilent(device, at: age)
                    else { continue }
                    (device.deactivatedAt, device.reason) = (now, Deactivation.activityEnded)
                    device.evidence = now
                    change.after = device
                    devices.put(change, for: id)
                    ended.append(.endOfActivity(at: id, app: app, evidence: now))
                }
                return ended
            }
            for end in ended { gone.insert(end.device) }
            return ended.map { EventDraft.deactivated($0) }
        }
        await publish(events)
    }

    private func erase(_ ids: [DeviceID], at age: WallTime) async throws {
        guard !ids.isEmpty else { return }
        try await turn.take {
            let (erased, _) = try await change(Set(ids), tagged: Set(ids), installations: nil) { devices in
                var erased: [DeviceID] = []
                for id in ids {
                    guard var change = devices[id], let device = change.after,
                        ActivityUpkeep.isForgotten(device, at: age)
                    else { continue }
                    change.after = nil
                    change.tags = []
                    change.isErased = true
                    devices.put(change, for: id)
                    erased.append(id)
                }
                return erased
            }
            for device in erased {
                gone.remove(device)
                others.remove(device)
            }
        }
    }
}
