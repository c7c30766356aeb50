package import PushModel
package import PushTime

/// The decisions for one HTTP/2 session: what may be sent, how each delivery ends, and when the session is over.
///
/// Every delivery that the machine takes ends exactly once, as answered, not processed or unknown. The ended ones are
/// fetched with ``takeEnded()``. The shell executes what the inputs return and decides nothing itself.
package struct ConnectionMachine: ~Copyable {
    package struct Settings: Sendable, Equatable {
        /// The time after which a request without an answer counts as unknown.
        package var answerTimeout: Duration = .seconds(30)
        /// The maximum number of requests. Client streams have odd ids up to 2^31 - 1 (RFC 9113 §5.1.1); a connection
        /// is replaced well before.
        package var maxRequests: UInt64 = (1 << 30) - 100_000

        package init() {}
    }

    package enum Phase: Equatable, Sendable {
        /// TCP, TLS and the first SETTINGS of the peer are pending. Nothing may be sent before them
        /// (`Documentation/Protocols.md`, "HTTP/2"). Can transition to: open, draining, closed.
        case connecting
        /// Can transition to: draining, closed.
        case open
        /// Sends nothing more; requests in flight may still be answered. Can transition to: closed.
        case draining
        case closed
    }

    package private(set) var phase = Phase.connecting
    package private(set) var limit = 0
    package private(set) var answered: UInt64 = 0
    package private(set) var goAwayReason: ProviderReason?
    private let settings: Settings
    private var requests: UInt64 = 0
    /// The time since which the peer has allowed no request at all.
    private var barredSince: MonotonicTime?
    private var waiting = DeliveryQueue()
    private var inFlight = InFlightTable()
    private var ended: [AttemptReport] = []

    package init(settings: Settings = Settings()) {
        self.settings = settings
    }

    package var inFlightCount: Int { inFlight.count }
    package var waitingCount: Int { waiting.count }
    package var hasEnded: Bool { !ended.isEmpty }
    /// Whether nothing is in flight any more, so that the shell may close the session.
    package var isDrained: Bool { phase == .draining && inFlight.count == 0 }

    package func oldestUnanswered(at now: MonotonicTime) -> Duration? {
        inFlight.oldestSentAt.map { now - $0 }
    }

    /// The time at which the oldest request times out, or the peer has allowed no request for too long.
    package var nextDeadline: MonotonicTime? {
        (inFlight.oldestSentAt ?? (phase == .open ? barredSince : nil)).map { $0 + settings.answerTimeout }
    }

    /// Returns the deliveries that have ended since the last call, in order.
    package mutating func takeEnded() -> [AttemptReport] {
        let batch = ended
        ended = []
        ended.reserveCapacity(min(batch.count, 1024))
        return batch
    }

    // MARK: Commands of the owner

    package mutating func deliver(_ deliveries: [Delivery]) {
        switch phase {
        case .connecting, .open:
            waiting.append(deliveries[...])
        case .draining, .closed:
            for delivery in deliveries { end(delivery, as: .notProcessed) }
        }
    }

    /// Starts to drain. Returns false if the session is draining or closed already.
    @discardableResult
    package mutating func drain() -> Bool {
        switch phase {
        case .connecting, .open:
            phase = .draining
            returnWaiting()
            return true
        case .draining, .closed:
            return false
        }
    }

    /// Gives back the deliveries of cancelled messages that were not sent.
    package mutating func recall() {
        for delivery in waiting.removeWithdrawn() { end(delivery, as: .notProcessed) }
    }

    /// Gives back everything that was not sent. The session goes on.
    package mutating func giveBack() { returnWaiting() }

    // MARK: Sending

    /// The response of the transport to a request.
    package enum Submission: Sendable {
        case taken
        /// The transport has no room for now: streams that have ended here are still open at the peer.
        case noRoom
        /// The transport takes no more requests on this session.
        case over
    }

    /// Passes each delivery that may be sent now to `submit`, with the tag that identifies its end. If the transport
    /// takes no more requests, the session drains and the returned event is `retiring`. If it has no room for now, the
    /// delivery waits for the next call.
    ///
    /// A delivery may have waited for a stream for long. If its message has expired or was cancelled meanwhile, it goes
    /// back to its owner.
    package mutating func send(
        now: MonotonicTime, at time: WallTime,
        _ submit: (_ delivery: borrowing Delivery, _ tag: UInt64) -> Submission
    ) -> ConnectionEvent? {
        while phase == .open, inFlight.count < limit, var delivery = waiting.popFirst() {
            guard delivery.mayBegin(at: time) else {
                end(delivery, as: .notProcessed)
                continue
            }
            let submission = requests < settings.maxRequests ? submit(delivery, inFlight.nextTag) : .over
            switch submission {
            case .taken: break
            case .noRoom:
                waiting.prepend(delivery)
                return nil
            case .over:
                end(delivery, as: .notProcessed)
                drain()
                return .retiring
            }
            delivery.attempt &+= 1
            requests += 1
            inFlight.add(consume delivery, at: now)
        }
        return nil
    }

    // MARK: Events of the peer

    /// Takes the stream limit of the peer. Returns an event for the owner, or nil if nothing has changed.
    package mutating func settingsReceived(limit: Int, now: MonotonicTime) -> ConnectionEvent? {
        barredSince = limit == 0 ? barredSince ?? now : nil
        switch phase {
        case .connecting:
            phase = .open
            self.limit = limit
            return .ready(limit: limit)
        case .open, .draining:
            guard limit != self.limit else { return nil }
            self.limit = limit
            return .limitChanged(limit)
        case .closed:
            return nil
        }
    }

    package mutating func answered(_ tag: UInt64, with ending: AttemptResult, now: MonotonicTime) {
        answered += 1
        finish(tag, as: ending, now: now)
    }

    /// Ends a stream without an answer whose request the peer cannot have processed.
    package mutating func notProcessed(_ tag: UInt64, now: MonotonicTime) {
        finish(tag, as: .notProcessed, now: now)
    }

    /// Ends a stream without an answer whose request the peer may have processed.
    package mutating func lost(_ tag: UInt64, cause: UnknownCause, now: MonotonicTime) {
        finish(tag, as: .unknown(cause), now: now)
    }

    /// Takes a GOAWAY. A second one only adds its reason; pairs have been seen (`Documentation/Protocols.md`, "GOAWAY
    /// and lost connections").
    package mutating func goAwayReceived(reason: ProviderReason?) -> ConnectionEvent? {
        if let reason { goAwayReason = reason }
        return drain() ? .goAway(reason: reason?.rawValue) : nil
    }

    /// Ends the session. Requests in flight become unknown; deliveries that were never sent are not processed.
    package mutating func closed(now: MonotonicTime) {
        phase = .closed
        while let tag = inFlight.oldestTag { finish(tag, as: .unknown(.connectionLost), now: now) }
        returnWaiting()
    }

    /// Ends the oldest request as unknown if it has timed out, and returns its tag, so that its stream is reset.
    /// Returns nil if none has.
    package mutating func expireOldest(now: MonotonicTime) -> UInt64? {
        guard let deadline = nextDeadline, deadline <= now, let tag = inFlight.oldestTag else { return nil }
        finish(tag, as: .unknown(.timeout), now: now)
        return tag
    }

    /// Drains a session on which the peer has allowed no request for too long. Nothing else would end it.
    package mutating func retireIfBarred(now: MonotonicTime) -> ConnectionEvent? {
        guard phase == .open, inFlight.count == 0, let barredSince, barredSince + settings.answerTimeout <= now else {
            return nil
        }
        drain()
        return .retiring
    }

    // MARK: Ends of deliveries

    private mutating func finish(_ tag: UInt64, as ending: AttemptResult, now: MonotonicTime) {
        guard let sentAt = inFlight.sentAt(tag), let delivery = inFlight.remove(tag) else { return }
        ended.append(AttemptReport(of: delivery, ending, latency: now - sentAt))
    }

    private mutating func end(_ delivery: Delivery, as ending: AttemptResult) {
        ended.append(AttemptReport(of: delivery, ending, latency: .zero))
    }

    private mutating func returnWaiting() {
        while let delivery = waiting.popFirst() { end(delivery, as: .notProcessed) }
    }
}
