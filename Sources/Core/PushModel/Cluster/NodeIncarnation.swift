/// A random number that distinguishes a run of a node from its earlier runs. A node that was declared dead takes a new
/// one.
package struct NodeIncarnation: Hashable, Sendable, CustomStringConvertible {
    /// A positive number, so that it fits the `bigint` of the database.
    package let value: Int64

    /// Creates an incarnation; nil unless `value` is positive.
    package init?(_ value: Int64) {
        guard value > 0 else { return nil }
        self.value = value
    }

    /// Creates an incarnation from random bits.
    package init(random bits: UInt64) {
        value = Int64(bitPattern: bits >> 1) | 1
    }

    package var description: String { "\(value)" }
}
