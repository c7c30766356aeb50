/// The number of a partition, from 0. A partition holds the log, the messages and the keys of its share of the message
/// ids.
package struct PartitionID: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The largest number of partitions of a cluster.
    package static let maxCount = EventNumber.maxParts

    private let value: UInt16

    /// Creates an id; nil unless `number` is in 0..<``maxCount``.
    package init?(_ number: Int) {
        guard (0..<Self.maxCount).contains(number), let value = UInt16(exactly: number) else { return nil }
        self.value = value
    }

    /// Creates the id of the partition that a hash belongs to: `hash` modulo `count`, which is raised or lowered to
    /// 1...``maxCount``.
    package init(remainder hash: UInt32, of count: Int) {
        let count = UInt32(clamping: max(1, min(count, Self.maxCount)))
        value = UInt16(truncatingIfNeeded: hash % count)
    }

    package var number: Int { Int(value) }

    package static func < (left: PartitionID, right: PartitionID) -> Bool { left.value < right.value }

    package var description: String { "\(value)" }
}
