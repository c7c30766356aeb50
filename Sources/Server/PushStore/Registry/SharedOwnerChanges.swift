import PushLoop
package import PushModel
import Synchronization

/// The latest changes of owners, in memory: up to 100 bytes each.
package final class SharedOwnerChanges: OwnerChanges {
    enum Change {
        case removed
        case erased
        case newUser(String?)
    }

    /// The last changes of a device.
    private struct Entry {
        var number: UInt32
        var user: String?
        /// The last one after which it was not registered any more.
        var end: (number: UInt32, reason: DeliveryOutcome.Suppression)?
    }

    private struct Table {
        var recent: [DeviceID: Entry] = [:]
        var older: [DeviceID: Entry] = [:]

        subscript(device: DeviceID) -> Entry? { recent[device] ?? older[device] }
    }

    private let limit: Int
    private let number = Atomic<UInt32>(0)
    private let table = Locked(Table())

    /// - Parameter limit: At least so many changes are remembered, and at most twice as many.
    init(limit: Int = 1 << 19) {
        self.limit = limit
    }

    package var latest: UInt32 { number.load(ordering: .acquiring) }

    /// Takes note of a change that is stored.
    func note(_ change: Change, of device: DeviceID) {
        table.withLock { table in
            let next = number.load(ordering: .relaxed) &+ 1
            var entry = table[device] ?? Entry(number: next)
            (entry.number, entry.user) = (next, nil)
            switch change {
            case .removed: entry.end = (next, .unknownDevice)
            case .erased: entry.end = (next, .erased)
            case .newUser(let user): entry.user = user
            }
            table.recent[device] = entry
            if table.recent.count >= limit {
                table.older = table.recent
                table.recent = [:]
            }
            number.store(next, ordering: .releasing)
        }
    }

    package func obstacle(
        to device: DeviceID, foundAt number: UInt32, of message: AcceptedMessage
    ) -> DeliveryOutcome.Suppression? {
        if latest == number { return nil }
        guard let entry = table.withLock({ $0[device] }) else { return nil }
        if let end = entry.end, Self.isLater(end.number, than: number) { return end.reason }
        guard message.isPersonal, Self.isLater(entry.number, than: number), !message.isAlsoFor(entry.user) else {
            return nil
        }
        return .reassigned
    }

    /// Numbers begin anew after the highest one, long after the changes before it are forgotten.
    private static func isLater(_ one: UInt32, than other: UInt32) -> Bool { Int32(bitPattern: one &- other) > 0 }
}
