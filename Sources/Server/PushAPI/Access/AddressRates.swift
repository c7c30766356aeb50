import PushTime
import PushTransport

/// The rates of requests per address, for endpoints without keys.
///
/// An address may send a number of requests at once, and then one per interval. The table is bounded: there are two
/// generations, and when the younger is full, the older is dropped. A forgotten address starts again.
struct AddressRates: Sendable {
    let burst: Int
    let interval: Duration
    private let limit: Int
    /// For each address, the time at which all of its requests will have been due.
    private var younger: [String: MonotonicTime] = [:]
    private var older: [String: MonotonicTime] = [:]

    init(burst: Int, interval: Duration, limit: Int) {
        self.burst = max(1, burst)
        self.interval = interval
        self.limit = max(1, limit)
    }

    var count: Int { younger.count + older.count }

    /// Returns the time after which the address may send again; nil if it may send now. Counts nothing.
    func wait(of peer: HTTP1Peer, now: MonotonicTime) -> Duration? {
        guard case .address(let host, _) = peer else { return nil }
        let key = Self.network(of: host)
        let due = max(now, younger[key] ?? older[key] ?? now)
        let wait = due - now - interval * (burst - 1)
        return wait > .zero ? wait : nil
    }

    /// Counts a request. Returns nil if it may be carried out, or else the time after which the address may send again.
    mutating func take(from peer: HTTP1Peer, now: MonotonicTime) -> Duration? {
        if let wait = wait(of: peer, now: now) { return wait }
        charge(1, to: peer, now: now)
        return nil
    }

    /// Counts requests that were carried out. The address then waits for all of them.
    mutating func charge(_ count: Int, to peer: HTTP1Peer, now: MonotonicTime) {
        guard case .address(let host, _) = peer else { return }
        let key = Self.network(of: host)
        let due = max(now, younger[key] ?? older[key] ?? now)
        if younger[key] == nil, younger.count >= limit {
            older = younger
            younger = [:]
        }
        younger[key] = due + interval * count
    }

    /// Returns the network of an address. A client with IPv6 usually has all addresses of its /64.
    static func network(of host: String) -> String {
        // The text of an IPv4 address, also of one that is mapped to IPv6.
        if host.contains(".") { return String(host.split(separator: ":").last ?? "") }
        var groups: [Substring] = []
        for group in host.split(separator: ":", omittingEmptySubsequences: false).prefix(4) {
            // The position of the groups after "::" is not known; the shorter prefix is a larger network.
            if group.isEmpty { break }
            groups.append(group)
        }
        return groups.joined(separator: ":") + "::"
    }
}
