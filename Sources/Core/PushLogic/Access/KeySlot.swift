import PushModel

/// A key, and what is remembered of its requests.
struct KeySlot: Sendable {
    /// The number of remembered addresses of a key.
    private static let maxFriends = 8

    var key: APIKey
    var nonces: NonceSeconds
    var requests = RateMeter()
    var failures = RateMeter()
    /// The limit of ``requests``, computed once.
    let rate: RateLimit?
    /// Whether the end of the key's rights was reported.
    var isEndReported = false
    /// The last addresses that used the key successfully. They are heard even if somebody else fails from the same
    /// address, such as that of a proxy.
    private(set) var friends: [IPAddress] = []

    init(_ key: APIKey, floor: Int64) {
        self.key = key
        nonces = NonceSeconds(floor: floor)
        rate = key.rate.map { RateLimit(perSecond: $0) }
    }

    func knows(_ address: IPAddress) -> Bool { friends.contains(address.site) }

    mutating func befriend(_ address: IPAddress) {
        let site = address.site
        if friends.first == site { return }
        friends.removeAll { $0 == site }
        if friends.count == Self.maxFriends { friends.removeLast() }
        friends.insert(site, at: 0)
    }
}
