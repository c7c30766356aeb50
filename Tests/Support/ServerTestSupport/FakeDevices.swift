package import PushLoop
package import PushModel

/// A registry in memory.
package final class FakeDevices: DeviceDirectory {
    package struct State {
        package var devices: [DeviceID: DeviceRecord] = [:]
        package var registered: [[DeviceRegistration]] = []
        /// The number of calls of `list`.
        package var lists = 0
        package var refusal: (any Error)?
        /// The number of calls that succeed before `refusal` is thrown.
        package var callsBeforeRefusal = 0
    }

    package let state = Locked(State())
    private let identities: Identities

    package init(_ identities: Identities) {
        self.identities = identities
    }

    package var registered: [[DeviceRegistration]] { state.withLock { $0.registered } }
    package var count: Int { state.withLock { $0.devices.count } }

    package func put(_ device: DeviceRecord) { state.withLock { $0.devices[device.id] = device } }

    package func register(_ devices: [DeviceRegistration]) async throws -> [RegisteredDevice] {
        try state.withLock { state throws -> [RegisteredDevice] in
            if let refusal = state.refusal {
                guard state.callsBeforeRefusal > 0 else { throw refusal }
                state.callsBeforeRefusal -= 1
            }
            state.registered.append(devices)
            return devices.map { device in
                let id = identities.device(of: device.app, token: device.token)
                let known = state.devices[id]
                if known == nil, device.purpose != .registration { return RegisteredDevice(id: id, change: .missing) }
                var record = known ?? DeviceRecord(id: id, app: device.app, token: device.token)
                record.user = device.user ?? record.user
                record.tags = device.tags ?? record.tags
                record.locale = device.locale ?? record.locale
                record.platform = device.platform ?? record.platform
                record.appVersion = device.appVersion ?? record.appVersion
                if let kind = device.place.kind { record.place.kind = kind }
                record.place.activity = device.place.activity ?? record.place.activity
                record.place.activityType = device.place.activityType ?? record.place.activityType
                record.place.installation = device.place.installation ?? record.place.installation
                record.timeZone = device.timeZone ?? record.timeZone
                record.registeredAt = record.registeredAt ?? 1_767_225_600_000
                record.seenAt = 1_767_225_600_000
                (record.deactivatedAt, record.reason) = (nil, nil)
                state.devices[id] = record
                return RegisteredDevice(
                    id: id, change: known == nil ? .registered : known?.isActive == true ? .known : .reactivated)
            }
        }
    }

    package func device(_ id: DeviceID) async throws -> DeviceRecord? { state.withLock { $0.devices[id] } }

    package func list(_ filter: DeviceFilter, after: AudienceCursor?, limit: Int) async throws -> DeviceList {
        if let after, DeviceID(after.text) == nil { throw BadCursor() }
        return state.withLock { state in
            state.lists += 1
            let all = state.devices.values.sorted { $0.id < $1.id }.filter { device in
                (filter.app == nil || device.app == filter.app) && (filter.user == nil || device.user == filter.user)
                    && (filter.tag.map { device.tags.contains($0) } ?? true)
                    && (filter.installation == nil || device.place.installation == filter.installation)
                    && (filter.activity == nil || device.place.activity == filter.activity)
                    && (filter.isActive == nil || device.isActive == filter.isActive)
                    && (after.map { device.id.description > $0.text } ?? true)
            }
            let page = Array(all.prefix(limit))
            return DeviceList(
                devices: page, next: all.count > limit ? page.last.map { AudienceCursor($0.id.description) } : nil)
        }
    }

    package func deactivate(_ devices: [DeviceID], reason: String) async throws -> [DeviceID] {
        state.withLock { state in
            devices.filter { id in
                guard state.devices[id]?.isActive == true else { return false }
                state.devices[id]?.deactivatedAt = 1_767_225_700_000
                state.devices[id]?.reason = reason
                return true
            }
        }
    }

    package func reactivate(_ devices: [DeviceID]) async throws -> [DeviceID] {
        state.withLock { state in
            devices.filter { id in
                guard state.devices[id]?.isActive == false, state.devices[id]?.token != nil else { return false }
                state.devices[id]?.deactivatedAt = nil
                state.devices[id]?.reason = nil
                return true
            }
        }
    }

    package func remove(_ devices: [DeviceID]) async throws -> [DeviceID] {
        state.withLock { state in devices.filter { state.devices.removeValue(forKey: $0) != nil } }
    }
}
