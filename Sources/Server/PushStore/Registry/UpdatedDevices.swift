import PushLoop
import PushModel
import PushTime

/// The addresses of Live Activities that an update has reached, until the registry has stored when.
///
/// What a crash loses makes an address end earlier; its next registration or update is later than that.
final class UpdatedDevices: Sendable {
    /// The maximum number of addresses. Further ones are not remembered.
    private let limit: Int
    private let times = Locked<[DeviceID: WallTime]>([:])

    init(limit: Int = 200_000) {
        self.limit = limit
    }

    func add(_ devices: [DeviceID], at now: WallTime) {
        times.withLock { times in
            for device in devices where times.count < limit || times[device] != nil { times[device] = now }
        }
    }

    /// Adds addresses that could not be stored.
    func add(_ devices: [DeviceID: WallTime]) {
        times.withLock { times in
            for (device, time) in devices where times.count < limit || times[device] != nil {
                times[device] = max(times[device] ?? .distantPast, time)
            }
        }
    }

    func take(atMost limit: Int) -> [DeviceID: WallTime] {
        times.withLock { times in
            if times.count <= limit { return exchange(&times, with: [:]) }
            let some = Dictionary(uniqueKeysWithValues: times.prefix(limit).map { ($0.key, $0.value) })
            for device in some.keys { times[device] = nil }
            return some
        }
    }
}
