import PushLogic
import PushLoop
import PushModel

/// The ids that are known not to be in the file: producers name their tokens but never register them. Without this
/// cache, each feedback about them would cost a lookup on disk that finds nothing.
///
/// It has two generations of half the limit each. When the younger one is full, the older one is dropped. Dropped ids
/// are looked up again.
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

    /// The number of writes so far. Read it before the file: missing ids are only remembered if nothing was written
    /// since.
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

    /// Removes ids that are now in the file.
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
