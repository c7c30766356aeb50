package import PushModel
package import PushTime

/// Decides for one HTTP/2 session: what may be sent now, what became of what was sent, when it is over.
///
/// Every delivery that it was given ends exactly once, as answered, not processed or unknown; what has ended is
/// fetched with `takeEnded`. The shell does what the answers of the inputs say and nothing of its own.
package struct ConnectionMachine: ~Copyable {
    package struct Settings: Sendable, Equatable {
        /// From the request's leaving until it counts as unknown.
        package var answerTimeout: Duration = .seconds(30)
        /// Client streams have odd ids up to 2^31 - 1 (RFC 9113 §5.1.1); a connection is renewed well before.
        package var mostRequests: UInt64 = (1 << 30) - 100_000

        package init() {}
    }

    package enum Phase: Equatable, Sendable {
        /// TCP, TLS, and the peer's first SETTINGS are awaited; before them nothing may be sent (PROTOCOLS A3).
        /// Can transition to: open, draining, closed.
        case connecting
        /// Can transition to: draining, closed.
        case open
        /// Sends nothing more; what is in flight may still be answered. Can transition to: closed.
        case draining
        case closed
    }

    package private(set) var phase = Phase.connecting
    package private(set) var limit = 0
    package private(set) var answered: UInt64 = 0
    package private(set) var goAwayReason: ProviderReason?
    private let settings: Settings
    private var requests: UInt64 = 0
    /// Since when the peer allows no request at all.
    private var barredSince: MonotonicTime?
    private var waiting = DeliveryQueue()
    private var inFlight = InFlightTable()
    private var ended: [EndedDelivery] = []

    package init(settings: Settings = Settings()) {
        self.settings = settings
    }

    package var inFlightCount: Int { inFlight.count }
    package var waitingCount: Int { waiting.count }
    package var hasEnded: Bool { !ended.isEmpty }
    /// All is said and done: the shell may close the session.
    package var isDrained: Bool { phase == .draining && inFlight.count == 0 }

    package func oldestUnanswered(at now: MonotonicTime) -> Duration? {
        inFlight.oldestSentAt.map { now - $0 }
    }

    /// When the oldest request will have waited too long, or the peer for too long have allowed none.
    package var nextDeadline: MonotonicTime? {
        (inFlight.oldestSentAt ?? (phase == .open ? barredSince : nil)).map { $0 + settings.answerTimeout }
    }

    /// What has ended since the last call, in the order in which it did.
    package mutating func takeEnded() -> [EndedDelivery] {
        let batch = ended
        ended = []
        ended.reserveCapacity(min(batch.count, 1024))
        return batch
    }

    // MARK: What the owner wants

    package mutating func deliver(_ deliveries: [Delivery]) {
        switch phase {
        case .connecting, .open:
            waiting.append(deliveries[...])
        case .draining, .closed:
            for delivery in deliveries { end(delivery, .notProcessed) }
        }
    }

    /// False when it drains or is over already.
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

    // MARK: Sending

    /// What the transport did with a request.
    package enum Submission: Sendable {
        case taken
        /// Not now: streams that have ended here are still open there.
        case noRoom
        /// Never again on this session.
        case over
    }

    /// Hands each delivery that may be sent now to `submit`, with the tag by which its end is to be told. When the
    /// transport takes no more for good, the session drains, and `retiring` is to be reported. When it has no room for
    /// the moment, the delivery waits for the next call.
    package mutating func send(
        now: MonotonicTime, _ submit: (_ delivery: borrowing Delivery, _ tag: UInt64) -> Submission
    ) -> ConnectionEvent? {
        while phase == .open, inFlight.count < limit, var delivery = waiting.popFirst() {
            let submission = requests < settings.mostRequests ? submit(delivery, inFlight.nextTag) : .over
            switch submission {
            case .taken: break
            case .noRoom:
                waiting.prepend(delivery)
                return nil
            case .over:
                end(delivery, .notProcessed)
                drain()
                return .retiring
            }
            delivery.attempt &+= 1
            requests += 1
            inFlight.add(delivery, at: now)
        }
        return nil
    }

    // MARK: What the peer did

    /// What the owner is to hear; nil when nothing has changed.
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

    package mutating func answered(_ tag: UInt64, _ ending: DeliveryEnding, now: MonotonicTime) {
        answered += 1
        finish(tag, ending, now)
    }

    /// The stream ended without an answer; the peer cannot have processed it.
    package mutating func notProcessed(_ tag: UInt64, now: MonotonicTime) {
        finish(tag, .notProcessed, now)
    }

    /// The stream ended without an answer; the peer may have processed it.
    package mutating func lost(_ tag: UInt64, _ cause: UnknownCause, now: MonotonicTime) {
        finish(tag, .unknown(cause), now)
    }

    /// A second GOAWAY (they have been seen in pairs, PROTOCOLS A8) only adds its reason.
    package mutating func goAwayReceived(reason: ProviderReason?) -> ConnectionEvent? {
        if let reason { goAwayReason = reason }
        return drain() ? .goAway(reason: reason?.rawValue) : nil
    }

    /// The session is over. What the transport did not account for is unknown, what never left is not processed.
    package mutating func closed(now: MonotonicTime) {
        phase = .closed
        while let tag = inFlight.oldestTag { finish(tag, .unknown(.connectionLost), now) }
        returnWaiting()
    }

    /// The oldest request that has waited too long, which is unknown now: its stream is to be reset. Nil: none has.
    package mutating func expireOldest(now: MonotonicTime) -> UInt64? {
        guard let deadline = nextDeadline, deadline <= now, let tag = inFlight.oldestTag else { return nil }
        finish(tag, .unknown(.timeout), now)
        return tag
    }

    /// A session on which the peer allows nothing any more is of no use, and nothing else would end it.
    package mutating func retireIfBarred(now: MonotonicTime) -> ConnectionEvent? {
        guard phase == .open, inFlight.count == 0, let barredSince, barredSince + settings.answerTimeout <= now else {
            return nil
        }
        drain()
        return .retiring
    }

    // MARK: Endings

    private mutating func finish(_ tag: UInt64, _ ending: DeliveryEnding, _ now: MonotonicTime) {
        guard let (delivery, sentAt) = inFlight.remove(tag) else { return }
        ended.append(EndedDelivery(delivery, ending, latency: now - sentAt))
    }

    private mutating func end(_ delivery: Delivery, _ ending: DeliveryEnding) {
        ended.append(EndedDelivery(delivery, ending, latency: .zero))
    }

    private mutating func returnWaiting() {
        while let delivery = waiting.popFirst() { end(delivery, .notProcessed) }
    }
}
