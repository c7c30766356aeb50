/// The chains whose certificates are known not to be revoked, each for a while; and those about which nobody could be
/// asked, for a short while. Neither a refusal nor a revocation is remembered.
struct RevocationCache {
    private struct Entry {
        let status: RevocationStatus
        let until: Int64
    }

    private let limit: Int
    private var entries: [[UInt8]: Entry] = [:]

    init(limit: Int) {
        self.limit = max(1, limit)
    }

    mutating func status(of chain: [UInt8], now: Int64) -> RevocationStatus? {
        guard let entry = entries[chain] else { return nil }
        if entry.until > now { return entry.status }
        entries[chain] = nil
        return nil
    }

    /// Adds an entry. At the limit, the entry that ends first gives way.
    mutating func insert(_ status: RevocationStatus, for chain: [UInt8], until: Int64) {
        if entries[chain] == nil, entries.count >= limit,
            let first = entries.min(by: { $0.value.until < $1.value.until })?.key
        {
            entries[first] = nil
        }
        entries[chain] = Entry(status: status, until: until)
    }
}
