import PushModel

/// The numbers that one ledger assigns, and the size of the tables that remember them.
package struct NumberSpace: Sendable, Equatable {
    /// The number before the first one.
    let base: UInt64
    /// The number of bits that choose a shard of a ``FingerprintTable``. An entry holds 32 bits more of a number.
    let shardBits: Int

    /// The numbers of a ledger with one part.
    package static let whole = NumberSpace(base: 0, shardBits: 13)

    /// The numbers of one of `count` parts. The tables of all parts together are as large as those of a whole ledger.
    package static func part(_ part: Int, of count: Int) -> NumberSpace {
        let bits = count < 2 ? 0 : Int.bitWidth - (count - 1).leadingZeroBitCount
        return NumberSpace(base: EventNumber.base(of: part), shardBits: max(5, whole.shardBits - bits))
    }

    /// The highest number.
    package var maximum: UInt64 { base + (1 << UInt64(32 + shardBits) - 1) }

    /// Returns whether the number belongs to the ledger, or precedes its first one.
    package func contains(_ number: UInt64) -> Bool { number >= base && number <= maximum }
}
