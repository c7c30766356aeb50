package import PushLoop
import PushRandom

/// The decisions of the simulated Apple push service, without sockets and without a clock.
///
/// The transport passes in what it receives and executes the returned reactions. The machine is not Sendable; it
/// belongs to one event loop.
package struct SimulatorMachine: ~Copyable {
    package let settings: SimulatorSettings
    let keys: ProviderKeys
    var topics = KnownTopics()
    package var devices = SimulatedDevices()
    package internal(set) var phones: SimulatedPhones
    package internal(set) var channels = BroadcastChannels()
    var faults: Faults
    package internal(set) var log: ReceivedLog
    package internal(set) var feedback = FeedbackList()
    var random: SeededRandom
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
        phones = SimulatedPhones(activityLimit: settings.activityLimit)
        faults = Faults(script)
        log = ReceivedLog(records: settings.records, retainedBytes: settings.retainedBytes)
        random = SeededRandom(seed: settings.seed)
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
        if let reason = fault.reason { text.object { $0.member("reason", string: reason) } }
        return Reaction.GoAway(lastStream: last, code: fault.code, text: text.bytes, closes: fault.closes)
    }

    // MARK: Requests

    /// Judges one complete request, records it, and returns what the transport must do.
    package mutating func receive(
        _ fields: RequestFields, body: ByteView, stream: Int32, on connection: inout ProviderConnection,
        now: WallTime
    ) -> Reaction {
        connection.requests += 1
        let request = ProviderRequest(fields: fields, body: body, stream: stream, receivedAt: now)
        guard let path = fields.path, connection.services != .management, path.hasPrefix(DeviceRequest.path) else {
            return receiveElsewhere(request, on: &connection)
        }
        let token = path.dropFirst(DeviceRequest.path.utf8CodeUnitCount)
        if fields.topic == nil, let certificate = connection.certificate, certificate.topics.count == 1 {
            // A certificate with a single topic implies that topic.
            return ByteView.lending(certificate.topics[0]) {
                receiveDevice(request, token: token, topic: $0, on: &connection)
            }
        }
        return receiveDevice(request, token: token, topic: fields.topic, on: &connection)
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
        _ request: ProviderRequest, on connection: inout ProviderConnection, reaction: inout Reaction
    ) -> Reason {
        let authorization = request.fields.authorization
        if let certificate = connection.certificate {
            return certificate.environments.contains(connection.environment) ? .none : .badCertificateEnvironment
        }
        if !settings.requiresAuthentication, authorization == nil, !connection.tokens.isWedged { return .none }
        let refusal = connection.tokens.refusal(
            of: authorization, keys: keys, policy: settings.tokens, environment: connection.environment,
            now: request.receivedAt)
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
        _ judgment: inout Judgment, of request: ProviderRequest, on connection: inout ProviderConnection
    ) {
        let reason = judgment.reaction.reason
        if reason != .none { judgment.reaction.status = reason.status }
        judgment.record.reason = reason
        judgment.record.status = judgment.reaction.status
        judgment.record.warnings = judgment.warnings.rawValue
        if request.stream > connection.lastStream || connection.isClosing {
            judgment.reaction.action = .ignore
            judgment.record.flags.formUnion([.isUnprocessed, .isUnanswered])
        } else if connection.isSilent {
            judgment.reaction.action = .silence
            judgment.record.flags.formUnion([.isUnprocessed, .isUnanswered])
        } else if !faults.isEmpty {
            applyFaults(to: &judgment, of: request, on: &connection)
        }
        if judgment.isForActivities, judgment.record.isAccepted { showActivity(&judgment, of: request) }
        let id = judgment.reaction.id
        judgment.record.at = request.receivedAt.milliseconds
        judgment.record.connection = connection.number
        judgment.record.stream = UInt32(bitPattern: request.stream)
        judgment.record.payloadLength = UInt32(clamping: request.body.count)
        judgment.record.setToken(judgment.token)
        judgment.record.idFirst = id.first
        judgment.record.idSecond = id.second
        if id.isUppercase { judgment.record.flags.insert(.isUppercaseID) }
        judgment.reaction.record = judgment.token.withBytes {
            log.append(judgment.record, token: $0, label: judgment.label, payload: request.body)
        }
    }

    private mutating func applyFaults(
        to judgment: inout Judgment, of request: ProviderRequest, on connection: inout ProviderConnection
    ) {
        let decision = faults.decide(
            FaultFacts(
                moment: .request, token: judgment.token, topic: judgment.topic, pushType: judgment.record.pushType,
                connection: connection.number, request: connection.requests, status: judgment.reaction.status,
                reason: judgment.reaction.reason))
        judgment.reaction.delay = decision.delay
        if let streams = decision.streams, streams != connection.streamLimit {
            connection.streamLimit = streams
            judgment.reaction.streamLimit = streams
        }
        guard let effect = decision.effect else { return }
        judgment.record.flags.insert(.isFault)
        switch effect {
        case .answer(let answer):
            judgment.replaceAnswer(with: answer, at: request.receivedAt)
        case .goAway(let fault):
            let goAway = Self.goAway(fault, after: request.stream)
            connection.lastStream = goAway.lastStream
            judgment.reaction.goAway = goAway
            if request.stream > goAway.lastStream { judgment.withhold(.ignore, isProcessed: false) }
        case .reset(let code):
            judgment.reaction.resetCode = code
            // REFUSED_STREAM guarantees that the request was not processed.
            judgment.withhold(.reset, isProcessed: decision.isProcessed ?? (code != 7))
        case .silence:
            connection.isSilent = true
            judgment.withhold(.silence, isProcessed: decision.isProcessed ?? true)
        case .halfFrame, .close:
            connection.isClosing = true
            judgment.withhold(effect == .close ? .close : .halfFrame, isProcessed: decision.isProcessed ?? true)
        case .wedge:
            connection.tokens.wedge()
            judgment.reaction.reason = .expiredProviderToken
            judgment.reaction.status = Reason.expiredProviderToken.status
            judgment.reaction.timestamp = 0
        case .refuse, .refuseTLS, .expiredCertificate, .packet:
            break
        }
        judgment.record.reason = judgment.reaction.reason
        judgment.record.status = judgment.reaction.status
        judgment.record.customReason = judgment.reaction.customReason
    }
}
