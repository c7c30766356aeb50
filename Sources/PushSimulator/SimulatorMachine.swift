package import PushLoop

/// The simulated Apple: every decision it takes, without sockets and without a clock.
///
/// The transport hands in what arrived and does what comes back. Not Sendable: it belongs to one loop.
package struct SimulatorMachine: ~Copyable {
    package let settings: SimulatorSettings
    let keys: ProviderKeys
    var topics = TopicBook()
    package var devices = DeviceBook()
    package internal(set) var channels = ChannelBook()
    var faults: Faults
    /// The rules in force as they were given, for the control port.
    var faultSources: [[UInt8]] = []
    package internal(set) var log: ReceivedLog
    package internal(set) var feedback = FeedbackList()
    var random: SplitMix
    var connections: UInt32 = 0
    var refusedConnections: UInt64 = 0
    let startedAt: WallTime

    /// - Parameter signatures: verifies the provider tokens. Nil: signatures are not looked at.
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

    /// A connection that was just accepted, and what shall become of it.
    package struct Arrival: Sendable {
        package enum TLS: Sendable {
            case normal, refused, expiredCertificate
        }
        /// Counted from 1 over all ports.
        package let number: UInt32
        /// Nanoseconds to wait before anything else.
        package var delay: Int64 = 0
        /// Reset at once, before TLS.
        package var isRefused = false
        package var tls = TLS.normal
        /// Close in good order after the handshake.
        package var closes = false
        /// Take everything and say nothing, from the end of the handshake.
        package var isSilent = false
        /// Feedback only: end within a tuple.
        package var isCutShort = false
        /// GOAWAY right after SETTINGS.
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

    /// The state of an HTTP/2 connection whose handshake is done. `streamLimit` of it goes into the first SETTINGS.
    package func open(
        _ arrival: Arrival, environment: APNsEnvironment, services: ProviderConnection.Services = .all,
        certificate: CertificateIdentity? = nil
    ) -> ProviderConnection {
        // Where no token is asked for, none would ever lift the limit.
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
            // A client's streams have odd numbers; 0 says that none was processed.
            case .back(let requests): Int32(max(Int64(stream) - 2 * Int64(requests), 0))
            }
        var text = JSONText()
        if let reason = fault.reason { text.object { $0.string("reason", reason) } }
        return Reaction.GoAway(lastStream: last, code: fault.code, text: text.bytes, closes: fault.closes)
    }

    // MARK: Requests

    /// Judges one complete request, keeps a record of it, and says what to do.
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
            // A certificate for one topic stands for it.
            return ByteView.lending(certificate.topics[0]) {
                receiveDevice(fields, token, topic: $0, body, stream, &connection, now)
            }
        }
        return receiveDevice(fields, token, topic: fields.topic, body, stream, &connection, now)
    }

    /// What the transport could not do about an answer it was given, by the number of its record.
    package mutating func answerLost(_ record: UInt64) { log.markUnanswered(record) }
    package mutating func requestUnprocessed(_ record: UInt64) { log.markUnprocessed(record) }

    /// Writes an answer's headers and body.
    package func render(_ reaction: Reaction, into text: inout AnswerText) {
        text.render(reaction, customReasons: faults.script.customReasons)
    }

    /// Why the sender may not send at all, or `none`.
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

    /// Lets the faults have their way with a judged request, and keeps the record.
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
            // The token is dead as of now, or nobody who registered it since the start would ever hear of it.
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
            // REFUSED_STREAM promises that nothing was done.
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
