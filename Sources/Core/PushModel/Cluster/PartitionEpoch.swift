/// The number of changes of owner of a partition. Every write of the ledger names the epoch of its partition; the
/// database accepts it only if the epoch is still current.
package struct PartitionEpoch: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let value: Int64

    package init(_ value: Int64) {
        self.value = value
    }

    /// The epoch of a partition that has never had an owner.
    package static let none = PartitionEpoch(0)

    package static func < (left: PartitionEpoch, right: PartitionEpoch) -> Bool { left.value < right.value }

    package var description: String { "\(value)" }
}
