/// How a client pushes. The defaults suit most producers.
public struct ProducerSettings: Sendable, Hashable {
    /// The number of messages that are sent and not acknowledged, at most.
    public var window = 1_000
    /// The bytes of messages that are sent and not acknowledged, at most. A larger message goes alone.
    public var windowBytes = 8 << 20
    /// The number of pushes that wait for room in the window, at most. Further ones throw ``PushError/busy(retryAfter:)``.
    public var maxWaiting = 10_000
    /// The bytes of waiting pushes, at most.
    public var maxWaitingBytes = 64 << 20
    /// The number of messages in one batch, at most. One waiting message is sent alone, many are packed.
    public var maxBatch = 500
    /// The time after which a push without an answer throws an error.
    public var deadline = Duration.seconds(30)
    /// The time after which a message without an ack is sent again. It doubles with each attempt. If there was no ack
    /// at all in this time, the client connects anew, to the next endpoint.
    public var ackTimeout = Duration.seconds(5)
    /// The time that ``CarillonClient/run()`` waits for acks when it ends.
    public var drainTimeout = Duration.seconds(10)

    /// Creates the default settings.
    public init() {}

    /// The number of requests that are under way at a time. While they are, further messages gather for a batch.
    static let maxRequests = 8
    /// The bytes of one batch, at most.
    static let maxBatchBytes = 1 << 20

    func check() throws(ClientError) {
        let numbers = [window, windowBytes, maxWaiting, maxWaitingBytes, maxBatch]
        guard numbers.allSatisfy({ $0 > 0 }), maxBatch <= 10_000 else {
            throw .invalidSetting("the bounds of a producer must be above 0, and maxBatch at most 10,000")
        }
        guard deadline > .zero, ackTimeout > .zero, drainTimeout >= .zero else {
            throw .invalidSetting("the times of a producer must be above 0")
        }
    }
}
