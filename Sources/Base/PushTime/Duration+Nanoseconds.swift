extension Duration {
    /// The duration in nanoseconds, saturating at the range of 64 bits (292 years).
    package var wholeNanoseconds: Int64 { Int64(clamping: attoseconds / 1_000_000_000) }

    /// The duration in milliseconds, rounded toward zero; saturating like ``wholeNanoseconds``.
    package var wholeMilliseconds: Int64 { wholeNanoseconds / 1_000_000 }

    package var inSeconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) * 1e-18
    }
}
