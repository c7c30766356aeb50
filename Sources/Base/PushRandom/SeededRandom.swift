/// A random number generator with a seed, so that a run can be repeated: the same seed gives the same numbers on every
/// machine. It must not be used for secrets.
///
/// The algorithm is SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
package struct SeededRandom: RandomNumberGenerator, Sendable {
    @usableFromInline var state: UInt64

    @inlinable
    package init(seed: UInt64) {
        state = seed
    }

    @inlinable
    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        return Self.mix(state)
    }

    /// Returns a number that is uniformly distributed over 0..<1.
    @inlinable
    package mutating func unit() -> Double { Double(next() >> 11) * 0x1p-53 }

    /// Returns the value with its bits mixed, so that each bit of the result depends on all of them. Different values
    /// have different results.
    @inlinable
    package static func mix(_ value: UInt64) -> UInt64 {
        var mixed = value
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
