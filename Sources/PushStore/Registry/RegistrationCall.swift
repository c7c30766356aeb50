import PushLoop
import PushModel

/// A call of `register` that waits for its turn, and its result.
final class RegistrationCall: Sendable {
    typealias Result = Swift.Result<([RegisteredDevice], [EventDraft]), any Error>

    let devices: [DeviceRegistration]
    private let ended = Locked<Result?>(nil)

    init(_ devices: [DeviceRegistration]) {
        self.devices = devices
    }

    var result: Result? { ended.withLock { $0 } }

    func end(_ result: Result) { ended.withLock { $0 = result } }
}

/// The waiting calls, in their order.
final class RegistrationCalls: Sendable {
    private let waiting = Locked<[RegistrationCall]>([])

    func add(_ call: RegistrationCall) { waiting.withLock { $0.append(call) } }

    /// Removes and returns waiting calls with at most `limit` devices in total, but at least one call.
    func take(atMost limit: Int) -> [RegistrationCall] {
        waiting.withLock { waiting in
            var (count, devices) = (0, 0)
            while count < waiting.count, count == 0 || devices + waiting[count].devices.count <= limit {
                devices += waiting[count].devices.count
                count += 1
            }
            defer { waiting.removeFirst(count) }
            return Array(waiting.prefix(count))
        }
    }
}
