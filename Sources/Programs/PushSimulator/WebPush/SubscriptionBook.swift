import PushTransport

/// The push subscriptions of the simulated browsers.
struct SubscriptionBook {
    struct Subscription: Sendable {
        let number: UInt64
        /// The last part of the endpoint. It has hexadecimal digits, so that fault rules match it as a token.
        let id: [UInt8]
        let key: AgreementKey
        /// The authentication secret.
        let secret: [UInt8]
        /// The key that senders must use: an uncompressed point. Nil: any key.
        let serverKey: [UInt8]?
        var hasEnded = false
        /// The number of messages that were taken.
        var received = 0
    }

    static let maxCount = 100_000
    static let maxOrder = 10_000
    private static let idLength = 16
    private static let secretLength = 16

    private var subscriptions: [[UInt8]: Subscription] = [:]
    private var made: UInt64 = 0

    var count: Int { subscriptions.count }
    var liveCount: Int { subscriptions.values.count { !$0.hasEnded } }

    subscript(id: [UInt8]) -> Subscription? {
        get { subscriptions[id] }
        set { subscriptions[id] = newValue }
    }

    /// Makes a subscription. There must be room for it.
    mutating func make(serverKey: [UInt8]?) throws(CryptoError) -> Subscription {
        precondition(count < Self.maxCount, "there is no room for another subscription")
        made += 1
        let subscription = Subscription(
            number: made, id: SecureRandom.bytes(Self.idLength), key: try .generate(),
            secret: SecureRandom.bytes(Self.secretLength), serverKey: serverKey)
        subscriptions[subscription.id] = subscription
        return subscription
    }

    /// Adds a subscription with given keys, for tests with published values.
    mutating func add(id: [UInt8], key: AgreementKey, secret: [UInt8], serverKey: [UInt8]? = nil) {
        made += 1
        subscriptions[id] = Subscription(number: made, id: id, key: key, secret: secret, serverKey: serverKey)
    }

    /// The subscriptions after a number, in the order in which they were made.
    func list(after number: UInt64, limit: Int) -> [Subscription] {
        Array(subscriptions.values.filter { $0.number > number }.sorted { $0.number < $1.number }.prefix(limit))
    }

    mutating func removeAll() { subscriptions = [:] }
}
