import PushLoop
import PushModel

/// A call of `register` that waits to be written.
struct RegistrationCall: Sendable {
    typealias Written = ([RegisteredDevice], [EventDraft])

    let devices: [DeviceRegistration]
    private let waiter: CheckedContinuation<Written, any Error>

    init(_ devices: [DeviceRegistration], waiter: CheckedContinuation<Written, any Error>) {
        self.devices = devices
        self.waiter = waiter
    }

    /// Ends the wait of the caller. Called once.
    func end(_ result: Result<Written, any Error>) { waiter.resume(with: result) }
}

/// The waiting calls, in their order.
///
/// A task writes them in groups as long as there are any. Each caller is resumed once, with its result: thousands of
/// registrations a second must not take turns.
final class RegistrationCalls: Sendable {
    private struct State {
        var waiting: [RegistrationCall] = []
        var isWriting = false
    }

    /// The maximum number of registrations in a write. With more, callers would wait longer for the commit.
    static let groupLimit = 2000

    /// The maximum number of waiting calls.
    let limit: Int
    private let state = Locked(State())

    init(limit: Int = 4096) {
        self.limit = limit
    }

    enum Added {
        case waits
        /// The caller must start to write: nobody else does.
        case mustWrite
        /// Too many calls wait.
        case full
    }

    func add(_ call: RegistrationCall) -> Added {
        state.withLock { state in
            guard state.waiting.count < limit else { return .full }
            state.waiting.append(call)
            defer { state.isWriting = true }
            return state.isWriting ? .waits : .mustWrite
        }
    }

    /// Removes and returns waiting calls with at most `limit` devices in total, but at least one call. If none waits, it
    /// returns none, and the next call must write.
    func take(atMost limit: Int) -> [RegistrationCall] {
        state.withLock { state in
            var (count, devices) = (0, 0)
            while count < state.waiting.count, count == 0 || devices + state.waiting[count].devices.count <= limit {
                devices += state.waiting[count].devices.count
                count += 1
            }
            if count == 0 { state.isWriting = false }
            defer { state.waiting.removeFirst(count) }
            return Array(state.waiting.prefix(count))
        }
    }
}
