/// A small seeded random number generator, so that a run with faults is repeatable (Steele, Lea and Flood, "Fast
/// splittable pseudorandom number generators", 2014). It must not be used for secrets.
package struct SplitMix: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) {
        state = seed
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        return Self.mix(state)
    }

    /// Returns a number that is uniformly distributed over 0..<1.
    mutating func unit() -> Double { Double(next() >> 11) * 0x1p-53 }

    @inline(__always)
    static func mix(_ value: UInt64) -> UInt64 {
        var mixed = value
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
