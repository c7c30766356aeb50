/// The 32-bit identifiers of the frames of one connection, which are counted in 64 bits: they wrap past 0, which
/// stands for no notification, and an old one is never taken for a new one.
struct LegacyIdentifiers: Sendable {
    private static let period = UInt64(UInt32.max)

    /// Sequence numbers begin here; 0 is none.
    let first: UInt64
    /// The last that was given out.
    private(set) var last: UInt64

    init(first: UInt64) {
        precondition(first > 0, "sequence numbers begin with 1")
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

    /// The latest frame that had this identifier; nil if none of this connection had.
    func sequence(of identifier: UInt32) -> UInt64? {
        guard identifier != 0, last >= first else { return nil }
        let distance = (UInt64(Self.identifier(of: last)) + Self.period - UInt64(identifier)) % Self.period
        return distance <= last - first ? last - distance : nil
    }
}
