import PushLoop
package import PushModel
import Synchronization

/// The latest changes of owners, in memory: up to 100 bytes each. Of those before them, it is only known which devices
/// had any.
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

    /// Changes of so many devices, and which devices these are.
    private struct Generation {
        var entries: [DeviceID: Entry] = [:]
        var devices: ForgottenOwners
    }

    private struct Table {
        var recent: Generation
        var older: Generation?
        /// Those before, the oldest first.
        var forgotten: [ForgottenOwners] = []
        /// The last change of which nothing is known.
        var lost: UInt32?

        subscript(device: DeviceID) -> Entry? { recent.entries[device] ?? older?.entries[device] }

        /// Begins another generation.
        mutating func turn(_ limit: Int) {
            if let older { forgotten.append(older.devices) }
            if forgotten.count > SharedOwnerChanges.mostForgotten { lost = forgotten.removeFirst().last }
            older = recent
            recent = Generation(devices: ForgottenOwners(limit: limit))
        }

        /// Returns what is still known of changes that are forgotten in detail.
        func forgotten(
            of device: DeviceID, since number: UInt32, isPersonal: Bool
        ) -> DeliveryOutcome.Suppression? {
            if isPersonal, let lost, isLater(lost, than: number) { return .reassigned }
            for changes in forgotten where isLater(changes.last, than: number) {
                if changes.hasEnd(of: device) { return .unknownDevice }
                if isPersonal, changes.hasChange(of: device) { return .reassigned }
            }
            return nil
        }
    }

    /// The number of generations of which only the devices are known, each of 4 MiB.
    private static let mostForgotten = 8

    private let limit: Int
    private let number = Atomic<UInt32>(0)
    private let table: Locked<Table>

    /// - Parameter limit: At least so many changes are remembered, and at most twice as many.
    init(limit: Int = 1 << 19) {
        self.limit = limit
        table = Locked(Table(recent: Generation(devices: ForgottenOwners(limit: limit))))
    }

    package var latest: UInt32 { number.load(ordering: .acquiring) }

    /// Takes note of a change that is stored.
    func note(_ change: Change, of device: DeviceID) {
        table.withLock { table in
            let next = number.load(ordering: .relaxed) &+ 1
            var entry = table[device] ?? Entry(number: next)
            (entry.number, entry.user) = (next, nil)
            var isEnd = true
            switch change {
            case .removed: entry.end = (next, .unknownDevice)
            case .erased: entry.end = (next, .erased)
            case .newUser(let user): (entry.user, isEnd) = (user, false)
            }
            table.recent.entries[device] = entry
            table.recent.devices.add(device, number: next, isEnd: isEnd)
            if table.recent.entries.count >= limit { table.turn(limit) }
            number.store(next, ordering: .releasing)
        }
    }

    package func obstacle(
        to device: DeviceID, foundAt number: UInt32, of message: AcceptedMessage
    ) -> DeliveryOutcome.Suppression? {
        if latest == number { return nil }
        let isPersonal = message.isPersonal
        let (entry, forgotten) = table.withLock { table in
            let entry = table[device]
            // The present user is known from a later change.
            let isKnown = entry.map { isLater($0.number, than: number) } ?? false
            return (entry, table.forgotten(of: device, since: number, isPersonal: isPersonal && !isKnown))
        }
        if let end = entry?.end, isLater(end.number, than: number) { return end.reason }
        if let forgotten { return forgotten }
        guard isPersonal, let entry, isLater(entry.number, than: number), !message.isAlsoFor(entry.user) else {
            return nil
        }
        return .reassigned
    }
}

/// Numbers begin anew after the highest one, long after the changes before it are forgotten.
private func isLater(_ one: UInt32, than other: UInt32) -> Bool { Int32(bitPattern: one &- other) > 0 }
