/// A size in bytes. Its text has a unit, as in `64MiB`.
package struct ByteCount: Sendable, Hashable, Comparable, CustomStringConvertible {
    package let bytes: Int64

    package init(_ bytes: Int64) {
        self.bytes = bytes
    }

    package static func < (left: ByteCount, right: ByteCount) -> Bool { left.bytes < right.bytes }

    package var description: String {
        for (shift, unit) in [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")] as [(Int64, String)]
        where bytes > 0 && bytes % (1 << shift) == 0 {
            return "\(bytes >> shift)\(unit)"
        }
        return "\(bytes)B"
    }
}

extension ByteCount {
    private static let units: [(name: String, bytes: Int64)] = [
        ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40), ("kB", 1000), ("MB", 1_000_000),
        ("GB", 1_000_000_000), ("TB", 1_000_000_000_000), ("B", 1),
    ]

    /// Parses a whole number with a unit, such as `64MiB`. Returns nil for any other text.
    package init?(text: String) {
        let digits = text.utf8.prefix { (48...57).contains($0) }
        guard let number = Int64(Substring(digits)),
            let unit = Self.units.first(where: { $0.name == text.dropFirst(digits.count) })
        else { return nil }
        let (bytes, overflows) = number.multipliedReportingOverflow(by: unit.bytes)
        guard !overflows else { return nil }
        self.init(bytes)
    }
}
