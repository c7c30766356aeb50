/// The number of an event in a log that may have several parts: the part is in the highest bits, and the number within
/// the part in the others. A log on a single node has one part, 0, so that both numbers are the same.
///
/// Such a number never leaves the process, because many languages read JSON numbers above 2^53 wrongly. What leaves it
/// is ``shown(_:)``.
package enum EventNumber {
    /// The maximum number of parts.
    package static let maxParts = 256
    /// The largest number within a part.
    package static var maxWithin: UInt64 { 1 << bits - 1 }
    private static let bits: UInt64 = 48

    /// Returns the part of a number.
    package static func part(of number: UInt64) -> Int { Int(truncatingIfNeeded: number >> bits) }

    /// Returns the number within its part.
    package static func within(_ number: UInt64) -> UInt64 { number & maxWithin }

    /// Returns the number before the first one of a part.
    package static func base(of part: Int) -> UInt64 { UInt64(max(0, part)) << bits }

    /// Returns a number as others see it: its part, and the number within the part. A number that no log assigns,
    /// because its part is too large, is shown whole, as one of part 0.
    @inline(__always)
    package static func shown(_ number: UInt64) -> (part: Int, number: UInt64) {
        let part = number >> bits
        if part == 0 || part >= UInt64(maxParts) { return (0, number) }
        return (Int(truncatingIfNeeded: part), number & maxWithin)
    }

    /// Returns a number for a sentence: `918273`, or `918273 of part 3`.
    package static func text(_ number: UInt64) -> String {
        let shown = shown(number)
        return shown.part == 0 ? "\(shown.number)" : "\(shown.number) of part \(shown.part)"
    }
}
