package import Glibc
package import PushTime
package import PushTransport

/// The endpoints and limits for publishing and replaying events.
package struct EventBusSettings: Sendable {
    /// The clients that may receive events, by the user id of their connections, which is their public key. The setting
    /// applies only to sockets with CURVE.
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

    /// The limits of replays.
    package struct Replay: Sendable, Equatable {
        /// The number of requests that are answered at a time; the next one is answered `busy`.
        package var concurrent = 8
        /// The same for one key, so that one observer cannot use all of them.
        package var concurrentOfOneKey = 2
        /// The number of events in one read of the log.
        package var page = 2000
        /// The maximum number of events for one request, whatever limit the request names.
        package var limit = 100_000
        /// The number of events that are examined for one request. A request whose prefix matches few events ends here,
        /// and the requester continues with `next`.
        package var lookedAt = 500_000
        /// How long the bus waits for a requester that does not read.
        package var patience = Duration.seconds(10)
        package var retryAfter = Duration.milliseconds(250)
        /// The number of messages that are queued for one requester: with `messageBytes` at most 16 MiB. Then the
        /// replay pauses.
        package var sendHighWater = 256

        package init() {}
    }

    /// Whether the log is that of a cluster, of which this process carries out some parts. Then heartbeats list the parts.
    package var isOfCluster = false
    /// The endpoints to bind; nil for none.
    package var publish: String?
    package var replay: String?
    /// The two sockets have ZAP domains of their own. libzmq checks a subscriber only at the handshake, so the ZAP
    /// handler must refuse clients that may not observe. At the replay socket each message carries the user id, and the
    /// bus checks it.
    package var publishSecurity = ZMQSecurity.none
    package var replaySecurity = ZMQSecurity.none
    package var observers = Observers.everybody
    /// The limits for the connections of both sockets together. Above the limit, new connections wait until others have
    /// closed. Subscriptions and requests are short.
    package var connectionLimits = ZMQConnectionLimits(connections: 1024, maxHeld: 4 << 20, maxHeldTogether: 64 << 20)
    package var connectionEvents: @Sendable (ZMQGuard.Event) -> Void = { _ in }
    /// The permissions of the files of `ipc://` endpoints.
    package var ipcMode: mode_t = 0o600

    /// A message of a topic is sent when it reaches one of these limits. Messages of 64 KiB cost a tenth of a
    /// microsecond more per line than longer ones, which is hardly measurable. The size matters because the high-water
    /// mark below counts messages, not bytes.
    package var messageBytes = 64 << 10
    package var messageLines = 2000
    /// The number of messages that libzmq queues for a slow subscriber; later ones are dropped for it. Full messages
    /// take 64 MiB for each subscriber, until its connection ends: the kernel ends it when the subscriber has accepted
    /// nothing for half a minute. The kernel's buffers add some 4 MiB. At full load (800 messages of 20 KiB a second)
    /// the queue covers about a second in which the subscriber does not read; a tenth of it would not hold one tick of
    /// a hundred apps.
    package var sendHighWater = 1000
    /// A subscriber or requester is disconnected when its system has accepted no data for this long. Until it
    /// reconnects, nothing is rendered for it.
    package var unacknowledgedTimeout = Duration.seconds(30)
    /// The bytes of segments that may wait for the loop. Segments above this are not published; replay still has them.
    package var inboxBytes = 64 << 20
    /// The number of prefixes that are remembered. While there are more, every topic is rendered, and only libzmq
    /// filters.
    package var prefixLimit = 16_384
    package var replays = Replay()
    /// Called on the loop of the bus after the publishing socket was closed to end subscriptions: with nil when it is
    /// bound again, and with an error after each long series of failed attempts.
    package var rebound: @Sendable (ZMQError?) -> Void = { _ in }
    /// The clock for the time in heartbeats.
    package var wallClock: @Sendable () -> WallTime = { .current() }

    package init(publish: String?, replay: String?) {
        self.publish = publish
        self.replay = replay
    }

    static let heartbeatInterval = Duration.seconds(1)
    /// How long a topic without new events stays in the heartbeat.
    static let topicMemory = Duration.seconds(60)
}

/// The bound endpoints of the bus, with the port numbers that the system chose; nil for a socket that is not bound.
package struct EventBusEndpoints: Sendable, Equatable {
    package let publish: String?
    package let replay: String?
}

package struct EventBusStatus: Sendable, Equatable {
    package static let shownPrefixes = 100

    package var prefixCount = 0
    /// The prefixes of all subscribers without repetition, up to ``shownPrefixes``.
    package var prefixes: [String] = []
    /// Whether there are more prefixes than are remembered.
    package var rendersAll = false
    /// The newest number that was handed in; in a cluster, the sum of those of the parts that are open.
    package var last: UInt64 = 0
    /// The newest number that was published, or passed over because it has no subscriber; in a cluster, the sum.
    package var rendered: UInt64 = 0
    /// The events that were handed to libzmq for at least one subscription. libzmq may still drop them for slow
    /// subscribers.
    package var published: UInt64 = 0
    package var messages: UInt64 = 0
    /// The events that were not published because the loop did not keep up, or the socket refused them.
    package var dropped: UInt64 = 0
    package var replayRequests: UInt64 = 0
    package var replaysRefused: UInt64 = 0
    /// The replays that ended because the requester disconnected or did not read.
    package var replaysAbandoned: UInt64 = 0
    package var replaysRunning = 0
    /// Open connections, including those in a handshake.
    package var connections = 0
    /// How often all subscriptions were ended because an observer lost its right.
    package var rebinds: UInt64 = 0

    package init() {}
}
