import PushLogic
import PushLoop
import PushModel

/// Devices that are known not to be in the file: whose tokens producers name without ever registering them. Without it,
/// each answer of theirs would be a look-up on disk that finds nothing.
///
/// Two generations of half the limit: when the younger is full, the older is forgotten as a whole. What is forgotten is
/// looked up again.
final class UnknownDevices: Sendable {
    private struct State {
        var younger = DeviceIDTable()
        var older = DeviceIDTable()
        var writes: UInt64 = 0
    }

    private let half: Int
    private let state = Locked(State())

    init(limit: Int) {
        half = max(1, limit / 2)
    }

    var count: Int { state.withLock { $0.younger.count + $0.older.count } }

    func contains(_ device: DeviceID) -> Bool {
        state.withLock { $0.younger.contains(device) || $0.older.contains(device) }
    }

    /// To be taken before the file is read: what is found missing there is remembered only if nobody has written since.
    var writes: UInt64 { state.withLock { $0.writes } }

    func add(_ devices: [DeviceID], readAfter writes: UInt64) {
        state.withLock { state in
            guard state.writes == writes else { return }
            for device in devices where !state.older.contains(device) {
                if state.younger.count >= half {
                    state.older = state.younger
                    state.younger = DeviceIDTable()
                }
                state.younger.insert(device)
            }
        }
    }

    /// They are in the file now, and it is synced.
    func written(_ devices: some Sequence<DeviceID>) {
        state.withLock { state in
            state.writes += 1
            for device in devices {
                state.younger.remove(device)
                state.older.remove(device)
            }
        }
    }
}
