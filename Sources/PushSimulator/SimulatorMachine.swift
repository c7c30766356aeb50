package import PushLoop

/// The decisions of the simulated Apple push service, without sockets and without a clock.
///
/// The transport passes in what it receives and executes the returned reactions. The machine is not Sendable; it
/// belongs to one event loop.
package struct SimulatorMachine: ~Copyable {
    package let settings: SimulatorSettings
    let keys: ProviderKeys
    var topics = TopicBook()
    package var devices = DeviceBook()
    package internal(set) var channels = ChannelBook()
    var faults: Faults
    /// The active fault rules as JSON, as the control port received them.
    var faultSources: [[UInt8]] = []
    package internal(set) var log: ReceivedLog
    package internal(set) var feedback = FeedbackList()
    var random: SplitMix
    var connections: UInt32 = 0
    var refusedConnections: UInt64 = 0
    let startedAt: WallTime

    /// - Parameter signatures: Verifies the signatures of provider tokens. Nil: signatures are not checked.
    package init(
        _ settings: SimulatorSettings = SimulatorSettings(), script: FaultScript = FaultScript(),
        signatures: SignatureCheck? = nil, now: WallTime
    ) {
        self.settings = settings
        keys = ProviderKeys(keys: settings.keys, check: signatures)
        faults = Faults(script)
        log = ReceivedLog(records: settings.records, retainedBytes: settings.retainedBytes)
        random = SplitMix(seed: settings.seed)
        startedAt = now
    }

    // MARK: Connections

    package enum Port: Sendable {
        case provider, binary, feedback
    }

    /// A connection that was just accepted, and how the transport treats it.
    package struct Arrival: Sendable {
        package enum TLS: Sendable {
            case normal, refused, expiredCertificate
        }
        /// The number of the connection, counted from 1 over all ports.
        package let number: UInt32
        /// The delay in nanoseconds before anything else happens.
        package var delay: Int64 = 0
        /// Whether the connection is reset at once, before the TLS handshake.
        package var isRefused = false
        package var tls = TLS.normal
        /// Whether the connection is closed gracefully after the handshake.
        package var closes = false
        /// Whether the connection reads everything and sends nothing after the handshake.
        package var isSilent = false
        /// Whether the feedback list ends in the middle of an entry. Feedback port only.
        package var isCutShort = false
        /// The GOAWAY frame to send right after SETTINGS.
        package var goAway: Reaction.GoAway?
        package var streamLimit: UInt32?
    }

    package mutating func arrive(at port: Port) -> Arrival {
        connections &+= 1
        var arrival = Arrival(number: connections)
        if faults.isEmpty { return arrival }
        let moment: FaultRule.Moment =
            switch port {
            case .provider: .connect
            case .binary: .binaryConnect
            case .feedback: .feedback
            }
        let decision = faults.decide(FaultFacts(moment: moment, connection: arrival.number))
        arrival.delay = decision.delay
        arrival.streamLimit = decision.streams
        switch decision.effect {
        case .refuse:
            arrival.isRefused = true
            refusedConnections += 1
        case .refuseTLS: arrival.tls = .refused
        case .expiredCertificate: arrival.tls = .expiredCertificate
        case .close: arrival.closes = true
        case .silence: arrival.isSilent = true
        case .halfFrame: arrival.isCutShort = true
        case .goAway(let fault):
            arrival.goAway = Self.goAway(fault, after: 0)
        case .answer, .reset, .wedge, .packet, nil: break
        }
        return arrival
    }

    /// Creates the state of an HTTP/2 connection after its handshake. The first SETTINGS frame announces its
    /// `streamLimit`.
    package func open(
        _ arrival: Arrival, environment: APNsEnvironment, services: ProviderConnection.Services = .all,
        certificate: CertificateIdentity? = nil
    ) -> ProviderConnection {
        // Without authentication no token arrives that would raise the limit.
        let isLimited = settings.beginsWithOneStream && settings.requiresAuthentication && certificate == nil
        var connection = ProviderConnection(
            number: arrival.number, environment: environment, services: services, certificate: certificate,
            streamLimit: arrival.streamLimit ?? (isLimited ? 1 : settings.streamLimit))
        connection.raisesStreams = isLimited && arrival.streamLimit == nil
        connection.isSilent = arrival.isSilent
        if let goAway = arrival.goAway { connection.lastStream = goAway.lastStream }
        return connection
    }

    static func goAway(_ fault: FaultRule.GoAway, after stream: Int32) -> Reaction.GoAway {
        let last: Int32 =
            switch fault.last {
            case .stream(let stream): stream
            // The streams of a client have odd numbers; 0 means that no stream was processed.
            case .back(let requests): Int32(max(Int64(stream) - 2 * Int64(requests), 0))
            }
        var text = JSONText()
        if let reason = fault.reason { text.object { $0.string("reason", reason) } }
        return Reaction.GoAway(lastStream: last, code: fault.code, text: text.bytes, closes: fault.closes)
    }

    // MARK: Requests

    /// Judges one complete request, records it, and returns what the transport must do.
    package mutating func receive(
        _ fields: RequestFields, body: ByteView, stream: Int32, on connection: inout ProviderConnection,
        now: WallTime
    ) -> Reaction {
        connection.requests += 1
        guard let path = fields.path, connection.services != .management, path.hasPrefix(DeviceRequest.path) else {
            return receiveElsewhere(fields, body, stream, &connection, now)
        }
        let token = path.dropFirst(DeviceRequest.path.utf8CodeUnitCount)
        if fields.topic == nil, let certificate = connection.certificate, certificate.topics.count == 1 {
            // A certificate with a single topic implies that topic.
            return ByteView.lending(certificate.topics[0]) {
                receiveDevice(fields, token, topic: $0, body, stream, &connection, now)
            }
        }
        return receiveDevice(fields, token, topic: fields.topic, body, stream, &connection, now)
    }

    /// Called when the transport could not deliver an answer; `record` is the number of the request's record.
    package mutating func answerLost(_ record: UInt64) { log.markUnanswered(record) }
    package mutating func requestUnprocessed(_ record: UInt64) { log.markUnprocessed(record) }

    /// Writes the headers and the body of an answer.
    package func render(_ reaction: Reaction, into text: inout AnswerText) {
        text.render(reaction, customReasons: faults.script.customReasons)
    }

    /// Returns why the sender is not authorized, or `none`.
    @inline(__always)
    mutating func authorize(
        _ fields: RequestFields, _ connection: inout ProviderConnection, _ reaction: inout Reaction,
        _ now: WallTime
    ) -> Reason {
        if let certificate = connection.certificate {
            return certificate.environments.contains(connection.environment) ? .none : .badCertificateEnvironment
        }
        if !settings.requiresAuthentication, fields.authorization == nil, !connection.tokens.isWedged { return .none }
        let refusal = connection.tokens.refusal(
            of: fields.authorization, keys: keys, policy: settings.tokens, environment: connection.environment, now: now
        )
        if refusal == .none, connection.raisesStreams {
            connection.raisesStreams = false
            connection.streamLimit = settings.streamLimit
            reaction.streamLimit = settings.streamLimit
        }
        return refusal
    }

    /// Applies the faults to a judged request and records it.
    @inline(__always)
    mutating func finish(
        _ reaction: inout Reaction, _ record: inout Record, _ token: TokenBytes, topic: ByteView?, label: ByteView?,
        _ body: ByteView, _ stream: Int32, _ connection: inout ProviderConnection, _ now: WallTime
    ) {
        reaction.status = reaction.reason == .none ? reaction.status : reaction.reason.status
        record.reason = reaction.reason
        record.status = reaction.status
        if stream > connection.lastStream || connection.isClosing {
            reaction.action = .ignore
            record.flags.formUnion([.isUnprocessed, .isUnanswered])
        } else if connection.isSilent {
            reaction.action = .silence
            record.flags.formUnion([.isUnprocessed, .isUnanswered])
        } else if !faults.isEmpty {
            applyFaults(&reaction, &record, token, topic, stream, &connection, now)
        }
        record.at = now.milliseconds
        record.connection = connection.number
        record.stream = UInt32(bitPattern: stream)
        record.payloadLength = UInt32(clamping: body.count)
        record.tokenLength = UInt8(token.count)
        record.token = (token.words[0], token.words[1], token.words[2], token.words[3])
        record.idFirst = reaction.id.first
        record.idSecond = reaction.id.second
        if reaction.id.isUppercase { record.flags.insert(.isUppercaseID) }
        reaction.record = token.withBytes { log.append(record, token: $0, label: label, payload: body) }
    }

    private mutating func applyFaults(
        _ reaction: inout Reaction, _ record: inout Record, _ token: TokenBytes, _ topic: ByteView?, _ stream: Int32,
        _ connection: inout ProviderConnection, _ now: WallTime
    ) {
        let decision = faults.decide(
            FaultFacts(
                moment: .request, token: token, topic: topic, pushType: record.pushType, connection: connection.number,
                request: connection.requests, status: reaction.status, reason: reaction.reason))
        reaction.delay = decision.delay
        if let streams = decision.streams, streams != connection.streamLimit {
            connection.streamLimit = streams
            reaction.streamLimit = streams
        }
        guard let effect = decision.effect else { return }
        record.flags.insert(.isFault)
        switch effect {
        case .answer(let answer):
            reaction.status = answer.status
            reaction.reason = answer.reason
            reaction.customReason = answer.customReason
            // Without a timestamp in the rule, the token is dead from now on. An older time would not affect a device
            // that registered after the start of the simulator.
            reaction.timestamp = answer.timestamp ?? (answer.status == 410 ? now.milliseconds : 0)
            reaction.retryAfter = answer.retryAfter
            reaction.body = []
            reaction.channelID = []
        case .goAway(let fault):
            let goAway = Self.goAway(fault, after: stream)
            connection.lastStream = goAway.lastStream
            reaction.goAway = goAway
            if stream > goAway.lastStream {
                reaction.action = .ignore
                withhold(&record, isProcessed: false)
            }
        case .reset(let code):
            reaction.action = .reset
            reaction.resetCode = code
            // REFUSED_STREAM guarantees that the request was not processed.
            withhold(&record, isProcessed: decision.isProcessed ?? (code != 7))
        case .silence:
            reaction.action = .silence
            connection.isSilent = true
            withhold(&record, isProcessed: decision.isProcessed ?? true)
        case .halfFrame, .close:
            reaction.action = effect == .close ? .close : .halfFrame
            connection.isClosing = true
            withhold(&record, isProcessed: decision.isProcessed ?? true)
        case .wedge:
            connection.tokens.wedge()
            reaction.reason = .expiredProviderToken
            reaction.status = Reason.expiredProviderToken.status
            reaction.timestamp = 0
        case .refuse, .refuseTLS, .expiredCertificate, .packet:
            break
        }
        record.reason = reaction.reason
        record.status = reaction.status
        record.customReason = reaction.customReason
    }

    private func withhold(_ record: inout Record, isProcessed: Bool) {
        record.flags.insert(.isUnanswered)
        if !isProcessed { record.flags.insert(.isUnprocessed) }
    }
}
