import PushModel
import PushTime

/// The failures of addresses. Its memory is allocated once: an address can only be in a few places of the table, and if
/// these are taken, the address with the smallest debt is forgotten. A stranger with many addresses can thereby escape
/// the limit, but can never cause another address to be limited.
struct FailureTable: Sendable {
    /// The number of places for an address.
    static let ways = 8

    private struct Entry: Sendable {
        var site = IPAddress(high: 0, low: 0)
        var meter = RateMeter()
    }

    private let key: (UInt64, UInt64)
    private let sets: Int
    private var entries: [Entry]

    /// - Parameter key: random words, so that strangers cannot choose addresses that share their places.
    init(maxAddresses: Int, key: (UInt64, UInt64)) {
        self.key = key
        var sets = 1
        while sets * Self.ways < min(max(1, maxAddresses), 1 << 20) { sets *= 2 }
        self.sets = sets
        entries = Array(repeating: Entry(), count: sets * Self.ways)
    }

    var capacity: Int { entries.count }

    private func places(of site: IPAddress) -> Range<Int> {
        var hash = SipHash(key: key)
        hash.add(site.high)
        hash.add(site.low)
        let first = Int(truncatingIfNeeded: hash.hash64() & UInt64(sets - 1)) * Self.ways
        return first..<(first + Self.ways)
    }

    /// Returns how long the address is refused unheard.
    func wait(_ address: IPAddress, _ limit: RateLimit, at now: MonotonicTime) -> Duration {
        let site = address.site
        for index in places(of: site) where entries[index].site == site {
            return entries[index].meter.wait(limit, at: now)
        }
        return .zero
    }

    /// Counts a failure of the address.
    mutating func take(_ address: IPAddress, _ limit: RateLimit, at now: MonotonicTime) {
        let site = address.site
        var chosen: (index: Int, debt: Duration)?
        for index in places(of: site) {
            if entries[index].site == site {
                chosen = (index, .zero)
                break
            }
            let debt = entries[index].meter.debt(at: now)
            if chosen.map({ debt < $0.debt }) ?? true { chosen = (index, debt) }
        }
        guard let index = chosen?.index else { return }
        if entries[index].site != site { entries[index] = Entry(site: site) }
        entries[index].meter.take(limit, at: now)
    }
}
