package import PushModel
import PushLoop
import Synchronization

/// The devices that are not to be sent to, in memory: some 32 bytes for each. In parts with a lock each, so that nobody
/// waits for who asks about other devices.
package final class GoneDevices: InactiveDevices {
    private static let partBits: UInt64 = 4
    private let parts: [Locked<DeviceIDTable>]
    private let total = Atomic<Int>(0)

    package init() {
        parts = (0..<(1 << Self.partBits)).map { _ in Locked(DeviceIDTable()) }
    }

    package var count: Int { total.load(ordering: .relaxed) }
    package var isEmpty: Bool { count == 0 }
    /// Of the tables.
    package var byteCount: Int { parts.reduce(0) { sum, part in sum + part.withLock { $0.byteCount } } }

    package func contains(_ device: DeviceID) -> Bool {
        if isEmpty { return false }
        return part(of: device).withLock { $0.contains(device) }
    }

    func insert(_ device: DeviceID) {
        if part(of: device).withLock({ $0.insert(device) }) { total.add(1, ordering: .relaxed) }
    }

    func remove(_ device: DeviceID) {
        if part(of: device).withLock({ $0.remove(device) }) { total.subtract(1, ordering: .relaxed) }
    }

    /// By other bits than those that choose the slot.
    private func part(of device: DeviceID) -> Locked<DeviceIDTable> {
        parts[Int(truncatingIfNeeded: device.high >> (64 - Self.partBits))]
    }
}
