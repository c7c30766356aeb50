import PushLogic
package import PushModel
package import PushTime

/// The decisions for one connection to a legacy push gateway (`Documentation/Protocols.md`, "The legacy binary
/// interface").
///
/// The protocol has no acknowledgments. A delivery is **known** to be accepted when an error packet names a later one,
/// or the answer to the probe at the end of a drain arrives. Otherwise it is **presumed** accepted when the peer's TCP
/// has had it for `settleAfter`, the connection is up, and no error packet came: the protocol offers nothing better. If
/// the peer reports an error later, the end of the connection reports how many deliveries were wrongly presumed
/// accepted.
///
/// With command 0 no packet can name a notification: any packet except the answer to the probe makes all unsettled
/// deliveries unknown. Command 0 is for peers that support no other command.
package struct LegacyMachine: ~Copyable {
    package struct Options: Sendable, Equatable {
        /// The maximum number of deliveries that are sent and not settled. When the ring is full, the oldest must
        /// settle before more are sent. The default is 8192.
        package var ringSize = 8192
        /// The maximum number of deliveries that wait to be sent, as a multiple of the ring. Further ones come back as
        /// not processed.
        package var waitingRings = 4
        /// The time that the peer may take to report an error. The default is 2 s.
        package var settleAfter: Duration = .seconds(2)
        /// The time without progress, while deliveries are unsettled, after which the connection counts as dead. The
        /// default is 30 s.
        package var stallAfter: Duration = .seconds(30)
        /// The maximum duration of a drain. The default is 10 s.
        package var drainFor: Duration = .seconds(10)
        /// Whether a drain ends with the probe. Without it a drain waits for the settle time.
        package var probes = true
        package var payloadLimit = 2048
        /// Whether frames contain identifiers. Those of command 0 do not.
        package var hasIdentifiers = true
        /// The first sequence number, for tests of identifiers that wrap.
        package var firstSequence: UInt64 = 1

        package init() {}
    }

    /// The result of an input. The shell handles it in this order: ended deliveries, the event for the owner, the end
    /// of the connection.
    package struct Action: Sendable {
        package var ended: [AttemptReport] = []
        package var event: ConnectionEvent?
        /// The end of the connection. Nothing may be written after it, except the TLS shutdown if `isOrderly` is true.
        package var end: ConnectionEnd?
        package var isOrderly = false
    }

    package enum Frame: Sendable {
        case notification(Delivery, identifier: UInt32)
        case probe(identifier: UInt32)
    }

    private enum State {
        /// Not connected yet. Can transition to: open, ended.
        case connecting
        /// Can transition to: draining, ended.
        case open(since: MonotonicTime)
        /// Takes no new deliveries and waits for those in the ring. `probe` is the sequence number of the probe once it
        /// is sent. Can transition to: ended.
        case draining(until: MonotonicTime, probe: UInt64?)
        case ended
    }

    /// The last frame that the peer's TCP has when `bytes` of the stream are acknowledged.
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
    /// The sequence number of the oldest delivery in the ring.
    private var oldest: UInt64
    private var marks: [Mark] = []
    /// The time of the first frame that no mark covers.
    private var unmarkedSince: MonotonicTime?
    private var acknowledged: UInt64 = 0
    private var lastProgress: MonotonicTime?
    private var recheckAt: MonotonicTime?
    /// False once a part of an error packet has arrived. Then nothing settles any more.
    private var isQuiet = true

    /// The number of deliveries that ended after they were sent.
    package private(set) var answered: UInt64 = 0
    private var accepted: UInt64 = 0

    package init(_ options: Options = Options()) {
        precondition(options.ringSize > 0 && options.waitingRings > 0, "ringSize and waitingRings must be positive")
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

    /// Takes deliveries, which are sent in this order.
    package mutating func deliver(_ deliveries: [Delivery]) -> Action {
        var action = Action()
        switch state {
        case .connecting, .open: break
        case .draining, .ended:
            action.ended = deliveries.map { AttemptReport(of: $0, .notProcessed, latency: .zero) }
            return action
        }
        for delivery in deliveries {
            let count = delivery.message.payload.count
            let refusal: AttemptResult? =
                if count == 0 {
                    LegacyStatus.missingPayload.result(attempt: delivery.attempt)
                } else if count > options.payloadLimit {
                    LegacyStatus.invalidPayloadSize.result(attempt: delivery.attempt)
                } else if delivery.token.byteCount > Address.maxTokenLength {
                    LegacyStatus.invalidTokenSize.result(attempt: delivery.attempt)
                } else if waiting.count >= options.ringSize * options.waitingRings {
                    .notProcessed
                } else {
                    nil
                }
            if let refusal {
                action.ended.append(AttemptReport(of: delivery, refusal, latency: .zero))
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
            return finish(
                ConnectionEnd(.byUs, message: "drained before it was connected"), into: &action, isOrderly: true)
        case .open:
            returnWaiting(into: &action)
            guard !ring.isEmpty else {
                return finish(ConnectionEnd(.byUs, message: "drained"), into: &action, isOrderly: true)
            }
            state = .draining(until: now + options.drainFor, probe: nil)
        case .draining, .ended:
            break
        }
        return action
    }

    /// Gives back the deliveries of cancelled messages that were not sent.
    package mutating func recall() -> [AttemptReport] {
        waiting.removeWithdrawn().map { AttemptReport(of: $0, .notProcessed, latency: .zero) }
    }

    /// Gives back everything that was not sent. The connection goes on.
    package mutating func giveBack() -> Action {
        var action = Action()
        returnWaiting(into: &action)
        return action
    }

    package mutating func close(now: MonotonicTime) -> Action {
        var action = Action()
        if case .ended = state { return action }
        endRing(as: .unknown(.connectionLost), now: now, into: &action)
        return finish(ConnectionEnd(.byUs, message: "closed"), into: &action)
    }

    // MARK: Sending

    /// Returns the next frame to write, or nil if there is none or the ring is full. Deliveries that have waited until
    /// their message expired or was cancelled are added to `unsent` instead.
    package mutating func nextFrame(
        now: MonotonicTime, at time: WallTime, unsent: inout [AttemptReport]
    ) -> Frame? {
        switch state {
        case .open:
            guard ring.count < options.ringSize, var delivery = nextDelivery(at: time, unsent: &unsent) else {
                return nil
            }
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

    private mutating func nextDelivery(at time: WallTime, unsent: inout [AttemptReport]) -> Delivery? {
        while let delivery = waiting.popFirst() {
            if delivery.mayBegin(at: time) { return delivery }
            unsent.append(AttemptReport(of: delivery, .notProcessed, latency: .zero))
        }
        return nil
    }

    /// Records that all frames so far were handed to the kernel, and that the stream has `bytes` bytes now.
    package mutating func handedOver(bytes: UInt64, now: MonotonicTime) {
        guard unmarkedSince != nil else { return }
        unmarkedSince = nil
        // A probe comes after the ring and has no delivery.
        marks.append(Mark(through: oldest + UInt64(ring.count) - 1, at: now, bytes: bytes))
    }

    // MARK: Events of the connection

    package mutating func opened(now: MonotonicTime) -> Action {
        var action = Action()
        guard case .connecting = state else { return action }
        state = .open(since: now)
        lastProgress = now
        action.event = .ready(limit: options.ringSize)
        return action
    }

    /// Records that a part of an error packet has arrived.
    package mutating func packetBegan() {
        isQuiet = false
    }

    /// The time at which ``timePassed(now:acknowledged:)`` must be called.
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

    /// Called when time has passed. `acknowledged` is the number of bytes of the stream that the peer's TCP has
    /// acknowledged.
    package mutating func timePassed(now: MonotonicTime, acknowledged: UInt64) -> Action {
        var action = Action()
        if acknowledged > self.acknowledged {
            self.acknowledged = acknowledged
            lastProgress = now
        }
        if case .draining(let until, _) = state, now >= until {
            // A peer that is alive answers the probe. Without an answer nothing is presumed accepted.
            endRing(as: .unknown(.timeout), now: now, into: &action)
            return finish(
                ConnectionEnd(.silent, message: "timed out: no answer to the probe within \(options.drainFor)"),
                into: &action)
        }
        switch state {
        case .open: break
        case .draining where !options.probes: break
        case .connecting, .draining, .ended: return action
        }
        settle(now: now, into: &action)
        if case .draining = state, ring.isEmpty {
            return finish(ConnectionEnd(.byUs, message: "drained"), into: &action, isOrderly: true)
        }
        recheckAt = nil
        guard let since = oldestSentAt, now >= since + options.settleAfter else { return action }
        if now - max(since, lastProgress ?? since) >= options.stallAfter {
            endRing(as: .unknown(.timeout), now: now, into: &action)
            return finish(
                ConnectionEnd(
                    .silent, message: "timed out: nothing acknowledged for \(options.stallAfter); check the network"),
                into: &action)
        }
        recheckAt = now + max(options.settleAfter / 4, .milliseconds(10))
        return action
    }

    private mutating func settle(now: MonotonicTime, into action: inout Action) {
        guard isQuiet else { return }
        var done: Mark?
        while let mark = marks.first, mark.at + options.settleAfter <= now, mark.bytes <= acknowledged {
            done = mark
            endRing(as: .accepted(providerID: nil), upTo: mark.through, now: now, into: &action)
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
        // The probe is the only frame without a token.
        if let probe, named == probe || (identifier == 0 && status == .missingToken) {
            endRing(as: .accepted(providerID: nil), now: now, into: &action)
            return finish(ConnectionEnd(.byUs, message: "drained"), into: &action, isOrderly: true)
        }
        guard let named, status != .noError else {
            endRing(as: .unknown(.connectionLost), now: now, into: &action)
            return finish(
                ConnectionEnd(.goAway, message: "the peer ended the connection: \(status), for no known notification"),
                into: &action)
        }
        var wronglySettled: UInt64 = 0
        if status == .shutdown {
            if named < oldest { wronglySettled = oldest - 1 - named }
            endRing(as: .accepted(providerID: nil), upTo: named, now: now, into: &action)
        } else if named < oldest {
            wronglySettled = oldest - named
        } else {
            endRing(as: .accepted(providerID: nil), upTo: named - 1, now: now, into: &action)
            endNext(now: now, into: &action) { status.result(attempt: $0.attempt) }
        }
        returnDiscarded(into: &action)
        var message = "the peer ended the connection: \(status) at notification \(identifier)"
        if wronglySettled > 0 {
            message += "; \(wronglySettled) deliveries after it were wrongly presumed accepted"
        }
        let reason = status == .shutdown ? ProviderReason(rawValue: "Shutdown") : nil
        let kind: ConnectionEnd.Kind = accepted > 0 ? .errorPacket : .goAway
        return finish(ConnectionEnd(kind, message: message, reason: reason), into: &action)
    }

    /// Takes the end of the connection with the reason from the transport. `isWordless` is true if the peer closed it
    /// without an error packet.
    package mutating func connectionEnded(_ end: ConnectionEnd, isWordless: Bool, now: MonotonicTime) -> Action {
        var action = Action()
        if case .ended = state { return action }
        endRing(as: .unknown(.connectionLost), now: now, into: &action)
        if case .open(let since) = state, isWordless, accepted == 0, now - since < options.settleAfter {
            let message = """
                \(end.message), right after the TLS handshake and without an error packet: push gateways do this when \
                they reject the certificate; check that it is valid and for this environment
                """
            return finish(ConnectionEnd(.credential, message: message), into: &action)
        }
        return finish(end, into: &action)
    }

    // MARK: Ends of deliveries

    private mutating func returnWaiting(into action: inout Action) {
        while let delivery = waiting.popFirst() {
            action.ended.append(AttemptReport(of: delivery, .notProcessed, latency: .zero))
        }
    }

    /// Returns what the peer discarded because of the delivery before it. That was no attempt.
    private mutating func returnDiscarded(into action: inout Action) {
        while var delivery = ring.popFirst() {
            delivery.attempt &-= 1
            answered += 1
            action.ended.append(AttemptReport(of: delivery, .notProcessed, latency: .zero))
        }
        marks = []
    }

    private mutating func finish(_ end: ConnectionEnd, into action: inout Action, isOrderly: Bool = false) -> Action {
        returnWaiting(into: &action)
        state = .ended
        action.end = end
        action.isOrderly = isOrderly
        return action
    }

    private mutating func endRing(
        as ending: AttemptResult, upTo last: UInt64 = .max, now: MonotonicTime, into action: inout Action
    ) {
        while oldest <= last, !ring.isEmpty {
            endNext(now: now, into: &action) { _ in ending }
        }
    }

    private mutating func endNext(
        now: MonotonicTime, into action: inout Action, as ending: (Delivery) -> AttemptResult
    ) {
        guard let delivery = ring.popFirst() else { return }
        let sentAt = marks.first?.at ?? unmarkedSince ?? now
        let ending = ending(delivery)
        if case .accepted = ending { accepted += 1 }
        answered += 1
        action.ended.append(AttemptReport(of: delivery, ending, latency: max(.zero, now - sentAt)))
        if let mark = marks.first, mark.through <= oldest { marks.removeFirst() }
        oldest += 1
    }
}
