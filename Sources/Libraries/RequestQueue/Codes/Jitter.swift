/// A small generator of random numbers (SplitMix64). A machine holds one, so that a test repeats its choices.
package struct Jitter: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}

/// The pauses between attempts.
package enum Backoff {
    /// Returns the pause after a number of failed attempts: `first` doubled each time up to `max`, less a random part of
    /// up to a half. With 250 ms and 30 s: 125…250 ms, 250…500 ms, 0.5…1 s, …, 15…30 s.
    package static func pause(
        after failures: Int, first: Duration, max: Duration, jitter: inout Jitter
    ) -> Duration {
        var whole = min(first, max)
        for _ in 1..<Swift.max(2, min(failures, 64)) where failures > 1 {
            whole = whole > max / 2 ? max : whole * 2
        }
        return whole / 2 + whole / 2 * Double.random(in: 0...1, using: &jitter)
    }
}
