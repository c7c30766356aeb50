import ReceiptCrypto

/// The chains that were verified lately, so that the certificates of a signer are verified once and not for each text.
///
/// Only trusted chains that have signed something are kept: a stranger cannot push them out. A chain carries its
/// validity, which is compared for each text, so that an entry never becomes wrong.
struct ChainCache {
    struct Key: Hashable {
        let leaf: String
        let intermediate: String

        init(_ header: SigningHeader) {
            leaf = header.leaf
            intermediate = header.intermediate
        }
    }

    private struct Entry {
        let chain: SigningChain
        var lastUse: UInt64
    }

    private let limit: Int
    private var entries: [Key: Entry] = [:]
    private var uses: UInt64 = 0

    init(limit: Int) {
        self.limit = max(1, limit)
    }

    var count: Int { entries.count }

    /// The keys, beginning with that of the chain that was not used for the longest time.
    var keys: [Key] { entries.sorted { $0.value.lastUse < $1.value.lastUse }.map(\.key) }

    func has(_ key: Key) -> Bool { entries[key] != nil }

    mutating func chain(for key: Key) -> SigningChain? {
        guard let index = entries.index(forKey: key) else { return nil }
        uses &+= 1
        entries.values[index].lastUse = uses
        return entries.values[index].chain
    }

    /// Adds a chain. At the limit, the chain that was not used for the longest time gives way.
    mutating func insert(_ chain: SigningChain, for key: Key) {
        if entries[key] == nil, entries.count >= limit,
            let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse })?.key
        {
            entries[oldest] = nil
        }
        uses &+= 1
        entries[key] = Entry(chain: chain, lastUse: uses)
    }
}
