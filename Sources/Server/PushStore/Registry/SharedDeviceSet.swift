import Glibc
import PushLogic
package import PushModel
import Synchronization

/// The inactive devices, in memory: about 32 bytes each. They are divided into parts with a lock each, so that lookups
/// of different devices rarely wait for each other.
///
/// Each delivery causes a lookup. Therefore the locks are stored in one array and not in objects: access through
/// `Locked` and its closure costs twice as much as the lookup.
@safe
package final class SharedDeviceSet: DeviceSet, @unchecked Sendable {
    // Unchecked: each table is accessed only under the lock with the same index.
    private static let partBits: UInt64 = 4
    private static let partCount = 1 << Int(partBits)
    private let locks: UnsafeMutablePointer<pthread_mutex_t>
    private let tables: UnsafeMutablePointer<DeviceIDTable>
    private let total = Atomic<Int>(0)

    package init() {
        unsafe locks = .allocate(capacity: Self.partCount)
        unsafe tables = .allocate(capacity: Self.partCount)
        for part in 0..<Self.partCount {
            unsafe (locks + part).initialize(to: pthread_mutex_t())
            let result = unsafe pthread_mutex_init(locks + part, nil)
            precondition(result == 0, "cannot create a mutex: error \(result)")
            unsafe (tables + part).initialize(to: DeviceIDTable())
        }
    }

    deinit {
        for part in 0..<Self.partCount { unsafe pthread_mutex_destroy(locks + part) }
        unsafe tables.deinitialize(count: Self.partCount)
        unsafe tables.deallocate()
        unsafe locks.deallocate()
    }

    package var count: Int { total.load(ordering: .relaxed) }
    package var isEmpty: Bool { count == 0 }
    /// The memory size of all tables.
    package var byteCount: Int {
        (0..<Self.partCount).reduce(0) { sum, part in sum + withTable(part) { $0.byteCount } }
    }

    package func contains(_ device: DeviceID) -> Bool {
        if isEmpty { return false }
        return withTable(Self.part(of: device)) { $0.contains(device) }
    }

    /// Adds a device and returns whether it is new.
    @discardableResult
    func insert(_ device: DeviceID) -> Bool {
        let isNew = withTable(Self.part(of: device)) { $0.insert(device) }
        if isNew { total.add(1, ordering: .relaxed) }
        return isNew
    }

    func remove(_ device: DeviceID) {
        if withTable(Self.part(of: device), { $0.remove(device) }) { total.subtract(1, ordering: .relaxed) }
    }

    /// Takes the place of all devices, part by part.
    func replaceAll(with other: SharedDeviceSet) {
        for part in 0..<Self.partCount {
            let table = other.withTable(part) { $0 }
            let change = withTable(part) { mine in
                defer { mine = table }
                return table.count - mine.count
            }
            total.add(change, ordering: .relaxed)
        }
    }

    @inline(__always)
    private func withTable<Result>(_ part: Int, _ body: (inout DeviceIDTable) -> Result) -> Result {
        unsafe pthread_mutex_lock(locks + part)
        defer { unsafe pthread_mutex_unlock(locks + part) }
        return unsafe body(&tables[part])
    }

    /// Returns the index of a device's part. It uses other bits than those that choose the slot within the table.
    private static func part(of device: DeviceID) -> Int { Int(truncatingIfNeeded: device.high >> (64 - partBits)) }
}
