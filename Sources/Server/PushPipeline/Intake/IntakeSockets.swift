import PushTransport

/// The sockets of intake, each nil if it is not configured.
struct IntakeSockets {
    var router: ZMQSocket?
    var pull: ZMQSocket?
    /// The limiter for the connections of both.
    var connectionGuard: ZMQGuard?

    var isEmpty: Bool { router == nil && pull == nil }

    mutating func close() {
        router?.close()
        pull?.close()
        (router, pull) = (nil, nil)
    }
}
