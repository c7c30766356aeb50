/// The number of an event in a log that may have several parts: the part is in the highest bits, and the number within
/// the part in the others. A log on a single node has one part, 0, so that both numbers are the same.
package enum EventNumber {
    /// The maximum number of parts.
    package static let maxParts = 256
    private static let bits: UInt64 = 48

    /// Returns the part of a number.
    package static func part(of number: UInt64) -> Int { Int(truncatingIfNeeded: number >> bits) }

    /// Returns the number within its part.
    package static func within(_ number: UInt64) -> UInt64 { number & (1 << bits - 1) }

    /// Returns the number before the first one of a part.
    package static func base(of part: Int) -> UInt64 { UInt64(max(0, part)) << bits }
}
