package import PushTransport

/// Where and how events are published and replayed.
package struct EventBusSettings: Sendable {
    /// Who may see events. `named`: clients by the name that the ZAP handler gave to their key.
    package enum Observers: Sendable, Equatable {
        case everybody
        case named(Set<String>)

        func include(_ name: String?) -> Bool {
            switch self {
            case .everybody: true
            case .named(let names): name.map(names.contains) ?? false
            }
        }
    }

    /// What replay costs at most.
    package struct Replay: Sendable, Equatable {
        /// Requests that are being answered; one more is told that it is busy.
        package var concurrent = 8
        /// Events of one read of the log.
        package var page = 2000
        /// Events that one request brings at most, whatever it asks for.
        package var limit = 100_000
        /// Events that are looked at for one request: a prefix that matches nothing ends here, and goes on with `next`.
        package var lookedAt = 500_000
        /// How long a requester that does not read is waited for.
        package var patience = Duration.seconds(10)
        package var retryAfter = Duration.milliseconds(250)
        /// Messages queued for one requester: with `messageBytes` 16 MiB at most, after which the reading waits.
        package var sendHighWater = 256

        package init() {}
    }

    /// Where to bind; nil for not at all.
    package var publish: String?
    package var replay: String?
    /// The two have ZAP domains of their own: libzmq lets a subscriber in or keeps it out at the handshake and asks
    /// nobody again, so that the handler itself must refuse who may not observe; at the replay socket, whose messages
    /// carry a name, the bus sees to it.
    package var publishSecurity = ZMQSecurity.none
    package var replaySecurity = ZMQSecurity.none
    package var observers = Observers.everybody

    /// A message of a topic ends at the first of these. A line costs a tenth of a microsecond more in messages of 64 KiB
    /// than in longer ones, hardly to be measured, and the high-water mark below counts messages, not bytes.
    package var messageBytes = 64 << 10
    package var messageLines = 2000
    /// Messages that libzmq queues for a subscriber that does not keep up; what comes then is dropped for it. Full ones
    /// make 64 MiB a subscriber, for as long as its connection lasts: the heartbeat of ZMTP ends it after half a minute.
    /// The kernel's buffers come on top, some 4 MiB. At full load (800 messages of 20 KiB a second) this is a second of
    /// stillness; a tenth of it would not hold one tick of a hundred apps.
    package var sendHighWater = 1000
    /// Bytes of segments that wait for the loop. What comes above that is not published; replay has it.
    package var inboxBytes = 64 << 20
    /// Prefixes that are remembered, for as long as the bus is open. Above that everything is rendered, and libzmq alone decides who gets it.
    package var prefixLimit = 16_384
    package var replays = Replay()

    package init(publish: String?, replay: String?) {
        self.publish = publish
        self.replay = replay
    }

    static let heartbeatInterval = Duration.seconds(1)
    /// For how long the heartbeat tells of a topic.
    static let topicMemory = Duration.seconds(60)
}

/// Where the bus can be reached, with the ports that the system chose; nil where it cannot.
package struct EventBusEndpoints: Sendable, Equatable {
    package let publish: String?
    package let replay: String?
}

package struct EventBusStatus: Sendable, Equatable {
    package static let shownPrefixes = 100

    package var prefixCount = 0
    /// What subscribers ask for, each once; not all of it if it is much.
    package var prefixes: [String] = []
    /// There are more prefixes than are remembered.
    package var rendersAll = false
    /// The newest number that was handed in.
    package var last: UInt64 = 0
    /// Events that somebody had asked for and libzmq took. For whom it then dropped them it does not say.
    package var published: UInt64 = 0
    package var messages: UInt64 = 0
    /// Events that were not published because the loop did not keep up, or the socket refused.
    package var dropped: UInt64 = 0
    package var replayRequests: UInt64 = 0
    package var replaysRefused: UInt64 = 0
    /// Requesters that went or did not read.
    package var replaysAbandoned: UInt64 = 0
    package var replaysRunning = 0

    package init() {}
}
