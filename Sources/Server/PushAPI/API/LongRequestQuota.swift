import PushModel
import PushTransport

/// The places for requests of one kind that occupy a connection or the log for long. A key and an address have a share of them, so
/// that one client cannot take all, and the control socket has some of its own, so that an operator always gets one.
struct LongRequestQuota {
    /// The client of a request: its key, and the address that it comes from. Both are nil at the control socket.
    struct Client: Hashable, Sendable {
        let key: APIKeyID?
        fileprivate let address: String?

        init(_ caller: Caller, at peer: HTTP1Peer) {
            key = caller.keyID
            address = if case .address(let host, _) = peer { host } else { nil }
        }

        fileprivate var isLocal: Bool { key == nil && address == nil }
    }

    /// Why there is no place for a client.
    enum Refusal: Error, Equatable {
        case full, keyHasItsShare, addressHasItsShare
    }

    /// The number of places.
    let limit: Int
    private(set) var count = 0
    private var keys: [APIKeyID: Int] = [:]
    private var addresses: [String: Int] = [:]

    init(limit: Int) { self.limit = limit }

    /// The places of one key.
    var ofKey: Int { max(1, limit / 4) }
    /// The places of one address, behind which may be several clients.
    var ofAddress: Int { max(1, limit / 2) }
    /// The places that only the control socket may take.
    var kept: Int { limit / 8 }

    /// Returns why there is no place for a client; nil if there is one.
    func refusal(of client: Client) -> Refusal? {
        guard count < (client.isLocal ? limit : limit - kept) else { return .full }
        if let key = client.key, keys[key, default: 0] >= ofKey { return .keyHasItsShare }
        if let address = client.address, addresses[address, default: 0] >= ofAddress { return .addressHasItsShare }
        return nil
    }

    mutating func take(_ client: Client) throws(Refusal) {
        if let refusal = refusal(of: client) { throw refusal }
        add(client)
    }

    /// Gives a place to a client that is not refused.
    mutating func add(_ client: Client) {
        count += 1
        if let key = client.key { keys[key, default: 0] += 1 }
        if let address = client.address { addresses[address, default: 0] += 1 }
    }

    mutating func release(_ client: Client) {
        count -= 1
        if let key = client.key { keys[key] = keys[key].flatMap { $0 > 1 ? $0 - 1 : nil } }
        if let address = client.address { addresses[address] = addresses[address].flatMap { $0 > 1 ? $0 - 1 : nil } }
    }
}

extension LongRequestQuota.Refusal {
    /// Returns the problem for an answer. `what` is the plural of what occupies the places.
    func problem(_ what: String, of quota: LongRequestQuota) -> Problem {
        let detail =
            switch self {
            case .full: "\(quota.limit - quota.kept) \(what); try again later"
            case .keyHasItsShare: "\(quota.ofKey) \(what) with this key; end one of them, or try again later"
            case .addressHasItsShare:
                "\(quota.ofAddress) \(what) from this address; end one of them, or try again later"
            }
        return Problem(.tooManyRequests, detail: detail)
    }
}
