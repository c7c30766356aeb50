import PushLogic
import PushModel
import PushTime

/// What a pool knows of one origin: its waiting deliveries, its connections, and how it does.
struct OriginSlot {
    /// A connection to the origin.
    struct Link {
        enum Phase: Equatable {
            /// Transitions to: open, closing, gone.
            case connecting
            /// Takes deliveries. Transitions to: closing, gone.
            case open
            /// Takes no deliveries any more, and waits for answers. Transitions to: gone.
            case closing
            /// It has closed, and deliveries that were handed to it then are coming back.
            case gone
        }

        let id: ConnectionID
        var phase = Phase.connecting
        var limit = 0
        /// The deliveries that were given to it and have not ended.
        var given = 0
        var hasAnswered = false
        /// Since when it has had no deliveries, while it has none.
        var idleSince: MonotonicTime
    }

    /// A look-up of the name.
    struct LookUp {
        let number: UInt32
        let until: MonotonicTime
    }

    let origin: Origin
    let key: [UInt8]
    let hash: UInt64
    var waiting = DeliveryQueue()
    var links: [Link] = []
    var lookUp: LookUp?
    var health = OriginHealth()
    /// Why no connection is open, or why the last one ended; nil since one has opened.
    var fault: ConnectionFault?
    /// The number of deliveries that may be on the way at once. It grows with each answer.
    var window: Int
    /// The last time that a delivery was answered, or that the first of those arrived that the origin has.
    var progressAt: MonotonicTime
    var usedAt: MonotonicTime
    /// Until when its deliveries are refused because its name leads to a private address.
    var barredUntil: MonotonicTime?
    /// Until when it is asked with HTTP/1.1, because it did not offer HTTP/2.
    var http1Until: MonotonicTime?
    /// The number of addresses that were tried, so that the next attempt takes another one.
    var addressTurn = 0
    var isActive = false

    init(_ origin: Origin, key: [UInt8], hash: UInt64, window: Int, now: MonotonicTime) {
        self.origin = origin
        self.key = key
        self.hash = hash
        self.window = window
        progressAt = now
        usedAt = now
    }

    var given: Int { links.reduce(0) { $0 + $1.given } }

    /// The deliveries that it has.
    var held: Int { waiting.count + given }

    var isIdle: Bool { waiting.isEmpty && links.isEmpty && lookUp == nil }

    var isConnecting: Bool { lookUp != nil || links.contains { $0.phase == .connecting } }

    /// The connections that take deliveries or will.
    var live: Int { links.count { $0.phase == .connecting || $0.phase == .open } }

    /// Whether it has deliveries and has answered none for the given time.
    func isStalled(after patience: Duration, now: MonotonicTime) -> Bool {
        held > 0 && now - progressAt >= patience
    }

    /// Whether it has deliveries, and it is not known that it answers.
    func isQuiet(after silence: Duration, now: MonotonicTime) -> Bool {
        isStalled(after: silence, now: now) || (held > 0 && !links.contains { $0.hasAnswered && $0.phase != .gone })
    }

    /// Why deliveries go back while the breaker is open.
    var unavailable: ProviderReason { .unavailable(because: fault?.code) }

    /// Why deliveries go back that are too many.
    var busy: ProviderReason { fault == nil ? .originBusy : unavailable }

    /// The number of deliveries that may still be sent.
    var room: Int { max(0, (health.isHalfOpen ? 1 : window) - given) }
}
