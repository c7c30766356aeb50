package import PushModel
package import PushTime

/// Decides what becomes of the deliveries on one connection to a legacy push gateway (PROTOCOLS B).
///
/// The protocol acknowledges nothing. A delivery is **known** to be accepted when an error packet names a later one, or
/// the probe at the end of a drain. Otherwise it is **presumed** accepted, once the peer's TCP has had it for
/// `settleAfter` while the connection lived and nothing came back: the protocol has no more to offer. A peer that
/// complains later than that is told of in the connection's end, and those deliveries have ended already.
///
/// With command 0 no packet can say which notification it is about: any packet makes everything that is not settled
/// unknown, but for the answer to the probe. It is for peers that know nothing else.
package struct LegacyMachine: ~Copyable {
    package struct Options: Sendable, Equatable {
        /// Sent and not settled, at most. When it is full the oldest must settle before more goes out. Default 8192.
        package var ringSize = 8192
        /// Given and not sent, at most, as a multiple of the ring. What is beyond comes back as not processed.
        package var waitingRings = 4
        /// How long the peer may take to complain. Default 2 s.
        package var settleAfter: Duration = .seconds(2)
        /// No progress for so long, with deliveries unsettled: the connection is dead. Default 30 s.
        package var stallAfter: Duration = .seconds(30)
        /// How long a drain may take. Default 10 s.
        package var drainFor: Duration = .seconds(10)
        /// Whether a drain ends with the probe. Without it a drain waits for the settle time.
        package var probes = true
        package var payloadLimit = 2048
        /// Whether frames carry identifiers: not those of command 0.
        package var hasIdentifiers = true
        /// For tests of what happens when identifiers wrap.
        package var firstSequence: UInt64 = 1

        package init() {}
    }

    /// What an input comes to: what ended, then what the owner is told, then the end of the connection.
    package struct Action: Sendable {
        package var ended: [EndedDelivery] = []
        package var event: ConnectionEvent?
        /// The connection is over. Nothing is to be written any more; only what `isOrderly` may say goodbye.
        package var end: ConnectionEnd?
        package var isOrderly = false
    }

    package enum Frame: Sendable {
        case notification(Delivery, identifier: UInt32)
        case probe(identifier: UInt32)
    }

    private enum State {
        /// Nothing can be sent yet. Can transition to: open, ended.
        case connecting
        /// Can transition to: draining, ended.
        case open(since: MonotonicTime)
        /// Takes no more and waits for what is in the ring. `probe` is its sequence number once it is sent.
        /// Can transition to: ended.
        case draining(until: MonotonicTime, probe: UInt64?)
        case ended
    }

    /// Up to which frame the peer's side of the wire had everything, once `bytes` of the stream are acknowledged.
    private struct Mark {
        let through: UInt64
        let at: MonotonicTime
        let bytes: UInt64
    }

    private let options: Options
    private var state = State.connecting
    private var waiting = DeliveryQueue()
    private var ring = DeliveryQueue()
    private var identifiers: LegacyIdentifiers
    /// Sequence number of the oldest in the ring.
    private var oldest: UInt64
    private var marks: [Mark] = []
    /// When the first frame was sent that no mark covers.
    private var unmarkedSince: MonotonicTime?
    private var acknowledged: UInt64 = 0
    private var lastProgress: MonotonicTime?
    private var recheckAt: MonotonicTime?
    /// A part of an error packet has come: nothing settles any more.
    private var isQuiet = true

    /// Deliveries that ended after they were sent.
    package private(set) var answered: UInt64 = 0
    private var accepted: UInt64 = 0

    package init(_ options: Options = Options()) {
        precondition(options.ringSize > 0 && options.waitingRings > 0, "a legacy connection needs a ring")
        self.options = options
        identifiers = LegacyIdentifiers(first: options.firstSequence)
        oldest = options.firstSequence
    }

    package var inFlight: Int { ring.count }
    package var waitingCount: Int { waiting.count }
    package var hasUnmarked: Bool { unmarkedSince != nil }
    package var oldestSentAt: MonotonicTime? { ring.isEmpty ? nil : marks.first?.at ?? unmarkedSince }

    package var status: ConnectionStatus.State {
        switch state {
        case .connecting: .connecting
        case .open: .open
        case .draining: .draining
        case .ended: .closed
        }
    }

    // MARK: Commands of the owner

    /// Takes deliveries, to be sent in this order.
    package mutating func deliver(_ deliveries: [Delivery]) -> Action {
        var action = Action()
        switch state {
        case .connecting, .open: break
        case .draining, .ended:
            action.ended = deliveries.map { EndedDelivery($0, .notProcessed, latency: .zero) }
            return action
        }
        for delivery in deliveries {
            let count = delivery.message.payload.count
            let refusal: DeliveryEnding? =
                if count == 0 {
                    LegacyStatus.missingPayload.ending(attempt: delivery.attempt)
                } else if count > options.payloadLimit {
                    LegacyStatus.invalidPayloadSize.ending(attempt: delivery.attempt)
                } else if waiting.count >= options.ringSize * options.waitingRings {
                    .notProcessed
                } else {
                    nil
                }
            if let refusal {
                action.ended.append(EndedDelivery(delivery, refusal, latency: .zero))
            } else {
                waiting.append(delivery)
            }
        }
        return action
    }

    package mutating func drain(now: MonotonicTime) -> Action {
        var action = Action()
        switch state {
        case .connecting:
            return finish(ConnectionEnd(.byUs, "drained before it was connected"), &action, orderly: true)
        case .open:
            returnWaiting(&action)
            guard !ring.isEmpty else {
                return finish(ConnectionEnd(.byUs, "drained"), &action, orderly: true)
            }
            state = .draining(until: now + options.drainFor, probe: nil)
        case .draining, .ended:
            break
        }
        return action
    }

    package mutating func close(now: MonotonicTime) -> Action {
        var action = Action()
        if case .ended = state { return action }
        endRing(.unknown(.connectionLost), now, &action)
        return finish(ConnectionEnd(.byUs, "closed"), &action)
    }

    // MARK: Sending

    /// The next frame for the wire; nil when there is none or the ring is full.
    package mutating func nextFrame(now: MonotonicTime) -> Frame? {
        switch state {
        case .open:
            guard ring.count < options.ringSize, var delivery = waiting.popFirst() else { return nil }
            delivery.attempt &+= 1
            ring.append(delivery)
            if unmarkedSince == nil { unmarkedSince = now }
            return .notification(delivery, identifier: LegacyIdentifiers.identifier(of: identifiers.next()))
        case .draining(let until, nil) where options.probes:
            let sequence = identifiers.next()
            state = .draining(until: until, probe: sequence)
            return .probe(identifier: LegacyIdentifiers.identifier(of: sequence))
        case .connecting, .draining, .ended:
            return nil
        }
    }

    /// Everything that was given out has left for the kernel; the stream has `bytes` by now.
    package mutating func handedOver(bytes: UInt64, now: MonotonicTime) {
        guard unmarkedSince != nil else { return }
        unmarkedSince = nil
        // A probe stands behind the ring and has no delivery.
        marks.append(Mark(through: oldest + UInt64(ring.count) - 1, at: now, bytes: bytes))
    }

    // MARK: What happened

    package mutating func opened(now: MonotonicTime) -> Action {
        var action = Action()
        guard case .connecting = state else { return action }
        state = .open(since: now)
        lastProgress = now
        action.event = .ready(limit: options.ringSize)
        return action
    }

    /// Bytes have come that are no whole error packet yet.
    package mutating func packetBegan() {
        isQuiet = false
    }

    /// When `timePassed` wants to be called.
    package var nextDeadline: MonotonicTime? {
        switch state {
        case .connecting, .ended: return nil
        case .draining(let until, _) where options.probes: return until
        case .draining(let until, _): return min(until, settlingDeadline ?? until)
        case .open: return settlingDeadline
        }
    }

    private var settlingDeadline: MonotonicTime? {
        guard !ring.isEmpty, let since = oldestSentAt else { return nil }
        return max(since + options.settleAfter, recheckAt ?? since)
    }

    /// `acknowledged`: how much of the stream the peer's TCP has.
    package mutating func timePassed(now: MonotonicTime, acknowledged: UInt64) -> Action {
        var action = Action()
        if acknowledged > self.acknowledged {
            self.acknowledged = acknowledged
            lastProgress = now
        }
        if case .draining(let until, _) = state, now >= until {
            // A peer that lives answers the probe, so that nothing is presumed of one that does not.
            endRing(.unknown(.timeout), now, &action)
            return finish(
                ConnectionEnd(.silent, "drained for \(options.drainFor) without an answer to the probe"), &action)
        }
        switch state {
        case .open: break
        case .draining where !options.probes: break
        case .connecting, .draining, .ended: return action
        }
        settle(now, &action)
        if case .draining = state, ring.isEmpty {
            return finish(ConnectionEnd(.byUs, "drained"), &action, orderly: true)
        }
        recheckAt = nil
        guard let since = oldestSentAt, now >= since + options.settleAfter else { return action }
        if now - max(since, lastProgress ?? since) >= options.stallAfter {
            endRing(.unknown(.timeout), now, &action)
            return finish(
                ConnectionEnd(
                    .silent, "the peer has taken nothing for \(options.stallAfter); check the network to it"), &action)
        }
        recheckAt = now + max(options.settleAfter / 4, .milliseconds(10))
        return action
    }

    private mutating func settle(_ now: MonotonicTime, _ action: inout Action) {
        guard isQuiet else { return }
        var done: Mark?
        while let mark = marks.first, mark.at + options.settleAfter <= now, mark.bytes <= acknowledged {
            done = mark
            endRing(.accepted(uniqueID: nil), upTo: mark.through, now, &action)
        }
        if done != nil { lastProgress = now }
    }

    package mutating func errorReceived(status raw: UInt8, identifier: UInt32, now: MonotonicTime) -> Action {
        var action = Action()
        var probe: UInt64?
        switch state {
        case .open: break
        case .draining(_, let sent): probe = sent
        case .connecting, .ended: return action
        }
        let status = LegacyStatus(rawValue: raw)
        let named = options.hasIdentifiers ? identifiers.sequence(of: identifier) : nil
        // The only frame without a token is the probe.
        if let probe, named == probe || (identifier == 0 && status == .missingToken) {
            endRing(.accepted(uniqueID: nil), now, &action)
            return finish(ConnectionEnd(.byUs, "drained"), &action, orderly: true)
        }
        guard let named, status != .noError else {
            endRing(.unknown(.connectionLost), now, &action)
            return finish(
                ConnectionEnd(.goAway, "the peer ended the connection: \(status), and not after which notification"),
                &action)
        }
        var wronglySettled: UInt64 = 0
        if status == .shutdown {
            if named < oldest { wronglySettled = oldest - 1 - named }
            endRing(.accepted(uniqueID: nil), upTo: named, now, &action)
        } else if named < oldest {
            wronglySettled = oldest - named
        } else {
            endRing(.accepted(uniqueID: nil), upTo: named - 1, now, &action)
            endNext(now, &action) { status.ending(attempt: $0.attempt) }
        }
        endRing(.notProcessed, now, &action)
        var message = "the peer ended the connection: \(status) at notification \(identifier)"
        if wronglySettled > 0 {
            message += "; \(wronglySettled) that were taken for accepted by then were not: give it longer to settle"
        }
        let reason = status == .shutdown ? ProviderReason(rawValue: "Shutdown") : nil
        return finish(ConnectionEnd(.goAway, message, reason: reason), &action)
    }

    /// The connection is gone, for the reason that the transport gave. `isWordless`: the peer ended it and did not
    /// say why.
    package mutating func connectionEnded(_ end: ConnectionEnd, isWordless: Bool, now: MonotonicTime) -> Action {
        var action = Action()
        if case .ended = state { return action }
        endRing(.unknown(.connectionLost), now, &action)
        if case .open(let since) = state, isWordless, accepted == 0, now - since < options.settleAfter {
            let message = """
                \(end.message), right after TLS and without a word: push gateways do that when they do not take the \
                certificate; check that it is valid and for this environment
                """
            return finish(ConnectionEnd(.credential, message), &action)
        }
        return finish(end, &action)
    }

    // MARK: Endings

    private mutating func returnWaiting(_ action: inout Action) {
        while let delivery = waiting.popFirst() {
            action.ended.append(EndedDelivery(delivery, .notProcessed, latency: .zero))
        }
    }

    private mutating func finish(_ end: ConnectionEnd, _ action: inout Action, orderly: Bool = false) -> Action {
        returnWaiting(&action)
        state = .ended
        action.end = end
        action.isOrderly = orderly
        return action
    }

    private mutating func endRing(
        _ ending: DeliveryEnding, upTo last: UInt64 = .max, _ now: MonotonicTime, _ action: inout Action
    ) {
        while oldest <= last, !ring.isEmpty {
            endNext(now, &action) { _ in ending }
        }
    }

    private mutating func endNext(
        _ now: MonotonicTime, _ action: inout Action, _ ending: (Delivery) -> DeliveryEnding
    ) {
        guard let delivery = ring.popFirst() else { return }
        let sentAt = marks.first?.at ?? unmarkedSince ?? now
        let ending = ending(delivery)
        if case .accepted = ending { accepted += 1 }
        answered += 1
        action.ended.append(EndedDelivery(delivery, ending, latency: max(.zero, now - sentAt)))
        if let mark = marks.first, mark.through <= oldest { marks.removeFirst() }
        oldest += 1
    }
}
