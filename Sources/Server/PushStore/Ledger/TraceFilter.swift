/// A Bloom filter of the names in a trace run, in memory. It spares nearly all reads of the run for names that are not
/// in it.
struct TraceFilter {
    /// 256 KiB. With two entries per event, about one in twenty unknown names passes.
    private static let bits: UInt32 = 1 << 21

    private var words = [UInt64](repeating: 0, count: Int(bits / 64))

    mutating func insert(_ hash: UInt32) {
        insert(bit: hash % Self.bits)
        insert(bit: (hash >> 11) % Self.bits)
    }

    func mayContain(_ hash: UInt32) -> Bool {
        contains(bit: hash % Self.bits) && contains(bit: (hash >> 11) % Self.bits)
    }

    private mutating func insert(bit: UInt32) { words[Int(bit / 64)] |= 1 << UInt64(bit % 64) }
    private func contains(bit: UInt32) -> Bool { words[Int(bit / 64)] & 1 << UInt64(bit % 64) != 0 }
}
