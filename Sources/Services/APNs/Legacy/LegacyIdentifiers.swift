/// The 32-bit identifiers of the frames of one connection. They are counted in 64 bits: identifiers wrap and skip 0,
/// which stands for no notification, and an old one is never taken for a new one.
struct LegacyIdentifiers: Sendable {
    private static let period = UInt64(UInt32.max)

    /// The first sequence number, at least 1.
    let first: UInt64
    /// The last sequence number that was returned.
    private(set) var last: UInt64

    init(first: UInt64) {
        precondition(first > 0, "sequence numbers must start at 1 or higher")
        self.first = first
        last = first - 1
    }

    mutating func next() -> UInt64 {
        last += 1
        return last
    }

    static func identifier(of sequence: UInt64) -> UInt32 {
        UInt32((sequence - 1) % period) + 1
    }

    /// Returns the sequence number of the latest frame with this identifier, or nil if no frame of this connection had
    /// it.
    func sequence(of identifier: UInt32) -> UInt64? {
        guard identifier != 0, last >= first else { return nil }
        let distance = (UInt64(Self.identifier(of: last)) + Self.period - UInt64(identifier)) % Self.period
        return distance <= last - first ? last - distance : nil
    }
}
