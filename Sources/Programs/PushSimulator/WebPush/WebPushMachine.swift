package import PushLoop
import PushTransport

/// The decisions of the simulated push service of browsers (RFC 8030), without sockets and without a clock: which
/// requests it takes, and how it answers. It keeps the subscriptions with their private keys, decrypts what it takes as
/// the browsers would, and records it.
package struct WebPushMachine {
    /// The address of the service, with which its endpoints begin and which tokens must name.
    package var origin = ""
    var book = SubscriptionBook()
    var faults = Faults()
    var log = WebPushLog()
    private var connections: UInt32 = 0
    /// The fields whose signatures are verified, because a sender uses a token for many messages.
    private var authorizations: [String: VAPIDAuthorization] = [:]

    private static let maxAuthorizations = 256
    private static let maxBody = 4096
    /// The largest body that Firefox on Android takes.
    private static let maxBridgedBody = 3070

    package init() {}

    // MARK: Connections

    /// Creates the state of a connection that was just accepted.
    package mutating func arrive() -> WebPushConnection {
        connections &+= 1
        var connection = WebPushConnection(number: connections)
        if faults.isEmpty { return connection }
        let decision = faults.decide(FaultFacts(moment: .connect, connection: connection.number))
        connection.streamLimit = decision.streams
        switch decision.effect {
        case .refuse: connection.isRefused = true
        case .close: connection.isClosing = true
        case .silence: connection.isSilent = true
        case .goAway(let fault):
            let goAway = SimulatorMachine.goAway(fault, after: 0)
            connection.goAway = goAway
            connection.lastStream = goAway.lastStream
        default: break
        }
        return connection
    }

    // MARK: Requests

    /// Judges one complete request, records it, and returns what the transport must do.
    package mutating func receive(
        _ request: WebPushRequest, stream: Int32, on connection: inout WebPushConnection, now: WallTime
    ) -> WebPushReaction {
        connection.requests += 1
        var reaction = WebPushReaction()
        var record = WebPushRecord()
        record.at = now.milliseconds
        record.connection = connection.number
        record.stream = stream
        record.bodyCount = request.bodyCount
        record.status = 201
        do throws(WebPushRefusal) {
            try judge(request, now: now, record: &record)
        } catch {
            Self.note(error, in: &record)
            reaction.refuse(error)
        }
        if stream > connection.lastStream || connection.isClosing {
            Self.withhold(.ignore, isProcessed: false, &reaction, &record)
        } else if connection.isSilent {
            Self.withhold(.silence, isProcessed: false, &reaction, &record)
        } else if !faults.isEmpty {
            applyFaults(to: &reaction, record: &record, on: &connection)
        }
        if record.status / 100 == 2 { take(&record, reaction: &reaction) }
        reaction.record = log.append(record)
        return reaction
    }

    /// Called when the answer to a request did not reach the sender.
    package mutating func answerLost(_ record: UInt64) { log.markUnanswered(record) }

    package mutating func requestUnprocessed(_ number: UInt64) {
        guard let record = log[number], record.isAccepted else { return }
        book[record.subscription]?.received -= 1
        log.markUnprocessed(number)
    }

    private static func note(_ refusal: WebPushRefusal, in record: inout WebPushRecord) {
        record.status = refusal.status
        record.refusal = refusal.text
        record.errorNumber = refusal.number
        if let warning = refusal.warning { record.warnings.append(warning) }
    }

    private static func withhold(
        _ action: WebPushReaction.Action, isProcessed: Bool, _ reaction: inout WebPushReaction,
        _ record: inout WebPushRecord
    ) {
        reaction.action = action
        record.isUnanswered = true
        record.isUnprocessed = !isProcessed
    }

    /// Gives a message its name, and counts it at its subscription.
    private mutating func take(_ record: inout WebPushRecord, reaction: inout WebPushReaction) {
        let name = "m\(log.newest + 1)"
        record.message = name
        if record.isAccepted { book[record.subscription]?.received += 1 }
        reaction.status = record.status
        reaction.fields = [("location", "\(origin)/message/\(name)")]
        if let ttl = record.ttl { reaction.fields.append(("ttl", String(ttl))) }
        reaction.body = []
    }

    // MARK: Judging

    private mutating func judge(
        _ request: WebPushRequest, now: WallTime, record: inout WebPushRecord
    ) throws(WebPushRefusal) {
        guard let id = request.subscription else { throw .noPath }
        record.subscription = id
        record.urgency = request.urgency
        record.topic = request.topic
        guard request.method == "POST" else { throw .method }
        guard let subscription = book[id] else { throw .noPath }
        guard !subscription.hasEnded else { throw .unsubscribed }
        let authorization = try authorization(of: request)
        try authorization.check(origin: origin, now: now.seconds)
        if let key = subscription.serverKey, key != authorization.key { throw .otherKey }
        if authorization.hasLocalSubject { record.warnings.append("local_subject") }
        record.ttl = try request.lifetime()
        try request.checkUrgency()
        try request.checkTopic()
        record.text = try Self.text(of: request, for: subscription)
        if request.bodyCount > Self.maxBridgedBody { record.warnings.append("too_large_for_firefox_on_android") }
    }

    private mutating func authorization(of request: WebPushRequest) throws(WebPushRefusal) -> VAPIDAuthorization {
        guard let field = request.authorization else { throw .unauthorized("the header Authorization is missing") }
        if let known = authorizations[field] { return known }
        let authorization = try VAPIDAuthorization(field)
        if authorizations.count >= Self.maxAuthorizations { authorizations = [:] }
        authorizations[field] = authorization
        return authorization
    }

    private static func text(
        of request: WebPushRequest, for subscription: SubscriptionBook.Subscription
    ) throws(WebPushRefusal) -> [UInt8] {
        guard request.bodyCount <= maxBody else { throw .tooLarge(request.bodyCount) }
        // A message without content wakes the service worker.
        if request.body.isEmpty, request.encoding == nil { return [] }
        guard request.encoding == "aes128gcm" else { throw .encoding("the header Content-Encoding is not aes128gcm") }
        guard !request.hasOldFields else {
            throw .encoding("the headers Encryption and Crypto-Key do not belong to aes128gcm")
        }
        do throws(EncryptedBody.Fault) {
            return try EncryptedBody.decrypt(request.body, key: subscription.key, secret: subscription.secret)
        } catch {
            throw .undecipherable(error)
        }
    }

    // MARK: Faults

    private mutating func applyFaults(
        to reaction: inout WebPushReaction, record: inout WebPushRecord, on connection: inout WebPushConnection
    ) {
        let decision = decide(record, request: connection.requests)
        reaction.delay = decision.delay
        if let limit = decision.streams, limit != connection.streamLimit {
            connection.streamLimit = limit
            reaction.streamLimit = limit
        }
        guard let effect = decision.effect else { return }
        record.isFault = true
        switch effect {
        case .answer(let answer): replaceAnswer(with: answer, in: &reaction, record: &record)
        case .goAway(let fault):
            let goAway = SimulatorMachine.goAway(fault, after: record.stream)
            connection.lastStream = goAway.lastStream
            reaction.goAway = goAway
            if record.stream > goAway.lastStream { Self.withhold(.ignore, isProcessed: false, &reaction, &record) }
        case .reset(let code):
            // REFUSED_STREAM guarantees that the request was not processed.
            let isProcessed = decision.isProcessed ?? (code != 7)
            Self.withhold(.reset(code), isProcessed: isProcessed, &reaction, &record)
        case .silence:
            connection.isSilent = true
            Self.withhold(.silence, isProcessed: decision.isProcessed ?? true, &reaction, &record)
        case .close:
            connection.isClosing = true
            Self.withhold(.close, isProcessed: decision.isProcessed ?? true, &reaction, &record)
        default: break
        }
    }

    private mutating func decide(_ record: WebPushRecord, request: UInt64) -> FaultDecision {
        ByteView.lending(Array((record.topic ?? "").utf8)) { topic in
            faults.decide(
                FaultFacts(
                    moment: .request, token: ByteView.lending(record.subscription) { TokenBytes($0) } ?? TokenBytes(),
                    topic: record.topic == nil ? nil : topic, connection: record.connection, request: request,
                    status: record.status))
        }
    }

    private func replaceAnswer(
        with answer: FaultRule.Answer, in reaction: inout WebPushReaction, record: inout WebPushRecord
    ) {
        guard answer.status / 100 != 2 else {
            record.status = answer.status
            return
        }
        let refusal = WebPushRefusal(faultWith: answer.status)
        Self.note(refusal, in: &record)
        var body: [UInt8]?
        if answer.reason != .none {
            // A rule with a reason answers in the form of Apple.
            let name =
                answer.reason == .custom
                ? faults.script.customReasons[Int(answer.customReason)] : answer.reason.name.description
            var text = JSONText()
            text.object { $0.member("reason", string: name) }
            record.refusal = name
            record.errorNumber = nil
            body = text.bytes
        }
        reaction.refuse(refusal, retryAfter: answer.retryAfter, body: body)
    }
}
