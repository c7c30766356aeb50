package import PushLoop

/// The entries that the feedback service reports: devices that received notifications after they had gone. Reading the
/// list clears it.
package struct FeedbackList {
    package struct Entry: Equatable, Sendable {
        package var time: UInt32
        package var token: [UInt8]
    }

    private static let maxEntries = 1_000_000
    private var table = ByteTable<UInt32>()

    package init() {}

    package var count: Int { table.count }

    /// Adds a device, or updates the time of a known one. Returns false if the list is full.
    @discardableResult
    package mutating func add(_ token: [UInt8], at time: WallTime) -> Bool {
        guard table.count < Self.maxEntries || table[token] != nil else { return false }
        table.set(UInt32(clamping: time.seconds), for: token)
        return true
    }

    package var entries: [Entry] {
        var entries: [Entry] = []
        table.forEach { entries.append(Entry(time: $1, token: $0)) }
        return entries
    }

    package mutating func removeAll() { table.removeAll() }

    /// Returns the entries in the format of the service (time, length, token) and clears the list.
    package mutating func take() -> [UInt8] {
        var bytes: [UInt8] = []
        table.forEach { token, time in
            for shift in [24, 16, 8, 0] as [UInt32] { bytes.append(UInt8(truncatingIfNeeded: time >> shift)) }
            bytes.append(UInt8(truncatingIfNeeded: token.count >> 8))
            bytes.append(UInt8(truncatingIfNeeded: token.count))
            bytes.append(contentsOf: token)
        }
        table.removeAll()
        return bytes
    }
}
