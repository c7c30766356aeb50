package import Glibc
package import PushTransport

/// Where and how events are published and replayed.
package struct EventBusSettings: Sendable {
    /// The clients that may see events, by the user id of their connections, which is their public key. It holds on
    /// the sockets whose security asks for keys, and on no other.
    package enum Observers: Sendable, Equatable {
        case everybody
        case withKeys(Set<String>)

        func include(_ userID: String?) -> Bool {
            switch self {
            case .everybody: true
            case .withKeys(let keys): userID.map(keys.contains) ?? false
            }
        }

        func includeAll(of others: Observers) -> Bool {
            switch (self, others) {
            case (.everybody, _): true
            case (.withKeys, .everybody): false
            case (.withKeys(let keys), .withKeys(let others)): others.isSubset(of: keys)
            }
        }
    }

    /// What replay costs at most.
    package struct Replay: Sendable, Equatable {
        /// Requests that are being answered; one more is told that it is busy.
        package var concurrent = 8
        /// Those of one key, so that one observer cannot hold all places.
        package var concurrentOfOneKey = 2
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
    /// Of both sockets together; more connections wait until some have gone. Subscriptions and requests are short.
    package var door = ZMQDoorLimits(connections: 1024, hoard: 4 << 20, hoardTogether: 64 << 20)
    package var doorNews: @Sendable (ZMQDoor.News) -> Void = { _ in }
    /// Permissions of the files of `ipc://` endpoints.
    package var ipcMode: mode_t = 0o600

    /// A message of a topic ends at the first of these. A line costs a tenth of a microsecond more in messages of 64 KiB
    /// than in longer ones, hardly to be measured, and the high-water mark below counts messages, not bytes.
    package var messageBytes = 64 << 10
    package var messageLines = 2000
    /// Messages that libzmq queues for a subscriber that does not keep up; what comes then is dropped for it. Full ones
    /// make 64 MiB a subscriber, for as long as its connection lasts: the kernel ends it when nothing was taken for half
    /// a minute.
    /// The kernel's buffers come on top, some 4 MiB. At full load (800 messages of 20 KiB a second) this is a second of
    /// stillness; a tenth of it would not hold one tick of a hundred apps.
    package var sendHighWater = 1000
    /// A subscriber or requester whose system takes nothing for this long is disconnected. Then nothing of its is
    /// rendered until it has come back.
    package var unacknowledgedTimeout = Duration.seconds(30)
    /// Bytes of segments that wait for the loop. What comes above that is not published; replay has it.
    package var inboxBytes = 64 << 20
    /// Prefixes that are remembered. While there are more, everything is rendered, and libzmq alone decides who gets it.
    package var prefixLimit = 16_384
    package var replays = Replay()
    /// Called on the bus's loop when the publishing socket has been closed to end subscriptions, with what kept it from
    /// being bound again: nil when it is bound, an error each time that a long series of attempts has failed.
    package var rebound: @Sendable (ZMQError?) -> Void = { _ in }

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
    /// That are open, whether or not their handshakes are done.
    package var connections = 0
    /// How often all subscriptions were ended because an observer's right was taken.
    package var rebinds: UInt64 = 0

    package init() {}
}
