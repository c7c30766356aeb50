import PushLoop
import PushTransport

/// One HTTP/2 connection of a provider. It belongs to its event loop.
final class ProviderSession: SimulatorSession {
    private unowned let service: SimulatorService
    private let arrival: SimulatorMachine.Arrival
    private var connection: HTTP2ServerConnection?
    private var state: ProviderConnection?
    /// The answers that a fault delays, by stream.
    private var delayed: DelayedAnswers<Reaction>

    init(
        _ socket: consuming Socket, tls: TLSEngine, arrival: SimulatorMachine.Arrival, of service: SimulatorService
    ) {
        self.service = service
        delayed = DelayedAnswers(on: service.loop)
        self.arrival = arrival
        let settings = service.options.settings
        var options = HTTP2ServerConnection.Options()
        // The settings that api.push.apple.com announces (Documentation/Protocols.md, "TLS and connections").
        options.settings = HTTP2Settings(
            headerTableSize: 4096,
            maxConcurrentStreams: arrival.streamLimit ?? (settings.beginsWithOneStream ? 1 : settings.streamLimit),
            initialWindowSize: 65535, maxFrameSize: 16384, maxHeaderListSize: 8000)
        connection = HTTP2ServerConnection(socket, on: service.loop, tls: tls, options: options, delegate: self)
    }

    var backlog: Int { connection?.channel.outputBacklog ?? 0 }

    func abort() {
        connection?.channel.abort()
        forgetWaiting()
    }

    // MARK: Executing reactions

    private func perform(_ reaction: Reaction, stream: Int32, on connection: HTTP2ServerConnection) {
        if let limit = reaction.streamLimit {
            connection.engine.update(HTTP2Settings(maxConcurrentStreams: limit))
        }
        switch reaction.action {
        case .ignore:
            break
        case .silence:
            // Send the answers to earlier requests of the same batch first.
            connection.flushNow()
            connection.isMute = true
        case .halfFrame:
            connection.flushNow()
            // This HEADERS frame announces 48 bytes and ends after 7 of them.
            connection.channel.write(
                [0, 0, 48, 1, 4] + Self.bigEndian(stream) + [0x88, 0x40, 7, 0x61, 0x70, 0x6e, 0x73])
            connection.channel.close()
        case .close:
            connection.flushNow()
            connection.channel.close()
        case .answer, .reset:
            if reaction.delay > 0 {
                wait(reaction, stream: stream)
            } else {
                answer(reaction, stream: stream, on: connection)
            }
        }
        if let goAway = reaction.goAway {
            connection.send(goAway)
        }
    }

    private func wait(_ reaction: Reaction, stream: Int32) {
        delayed.add(reaction, on: stream, after: reaction.delay) { [weak self] in
            guard let self, let reaction = delayed.take(stream), let connection else { return }
            answer(reaction, stream: stream, on: connection)
            connection.flush()
        }
    }

    private func answer(_ reaction: Reaction, stream: Int32, on connection: HTTP2ServerConnection) {
        // A GOAWAY frame that is still to be sent drops the answers above its last stream.
        if isAboveLast(stream) { return recordLoss(of: reaction.record, stream: stream) }
        if reaction.action == .reset {
            connection.engine.reset(stream, code: HTTP2ErrorCode(rawValue: reaction.resetCode))
            return
        }
        service.machine.render(reaction, into: &service.answerText)
        let isAccepted = unsafe withUnsafeTemporaryAllocation(of: HTTP2AnswerField.self, capacity: 5) { fields in
            var count = 0
            unsafe service.answerText.forEachHeader { name, value in
                unsafe fields.initializeElement(at: count, to: HTTP2AnswerField(name, value: value, indexed: .once))
                count += 1
            }
            let given = unsafe UnsafeBufferPointer(rebasing: fields[..<count])
            let body = service.answerText.body
            return unsafe body.withUnsafeBytes { bytes in
                unsafe connection.engine.answer(
                    stream, status: HTTP2Status(Int(reaction.status)), fields: given,
                    body: bytes.isEmpty ? nil : bytes, tag: reaction.record)
            }
        }
        if !isAccepted { recordLoss(of: reaction.record, stream: stream) }
    }

    /// Records that the answer did not reach the client. Above the last stream of a GOAWAY frame, the request counts as
    /// not processed.
    private func recordLoss(of record: UInt64, stream: Int32) {
        service.machine.answerLost(record)
        if isAboveLast(stream) { service.machine.requestUnprocessed(record) }
    }

    private func isAboveLast(_ stream: Int32) -> Bool { stream > (state.read { $0.lastStream } ?? .max) }

    private func forgetWaiting() {
        for (stream, reaction) in delayed.takeAll() { recordLoss(of: reaction.record, stream: stream) }
    }

    private static func bigEndian(_ value: Int32) -> [UInt8] {
        let bits = UInt32(bitPattern: value)
        return [24, 16, 8, 0].map { (shift: UInt32) in UInt8(truncatingIfNeeded: bits >> shift) }
    }
}

extension ProviderSession: HTTP2ServerConnectionDelegate {
    func http2Opened(_ connection: HTTP2ServerConnection) {
        if arrival.closes {
            // Without a state no request is processed, including requests that arrived together with the handshake.
            connection.channel.close()
            return
        }
        let state = service.machine.open(
            arrival, environment: service.options.environment,
            certificate: CertificateIdentity(connection.channel.session?.peerCertificate))
        let settings = service.options.settings
        let announced = arrival.streamLimit ?? (settings.beginsWithOneStream ? 1 : settings.streamLimit)
        if state.streamLimit != announced {
            connection.engine.update(HTTP2Settings(maxConcurrentStreams: state.streamLimit))
        }
        self.state = consume state
        connection.isMute = arrival.isSilent
        if let goAway = arrival.goAway { connection.send(goAway) }
    }

    func http2(_ connection: HTTP2ServerConnection, request: HTTP2ServerRequest) {
        if request.hasTruncatedFields {
            connection.engine.answer(request.stream, status: HTTP2Status(431), fields: [], body: [])
            return
        }
        var fields = RequestFields()
        var cursor = unsafe request.fields
        while let field = unsafe cursor.next() {
            unsafe fields.take(name: field.name, value: field.value)
        }
        guard
            let reaction = state.mutate({ state in
                unsafe service.machine.receive(
                    fields, body: ByteView(borrowing: request.body), stream: request.stream, on: &state,
                    now: service.now)
            })
        else { return }
        perform(reaction, stream: request.stream, on: connection)
    }

    func http2(_ connection: HTTP2ServerConnection, withdrew stream: Int32) {
        if let reaction = delayed.take(stream) { recordLoss(of: reaction.record, stream: stream) }
    }

    func http2(_ connection: HTTP2ServerConnection, lostAnswerOn stream: Int32, tag: UInt64) {
        // The tag is 0 if the request was not recorded.
        if tag > 0 { recordLoss(of: tag, stream: stream) }
    }

    func http2Closed(_ connection: HTTP2ServerConnection, because reason: any Error) {
        forgetWaiting()
        self.connection = nil
        service.ended(self)
    }
}

extension Optional where Wrapped == ProviderConnection {
    fileprivate mutating func mutate<Result>(_ body: (inout ProviderConnection) -> Result) -> Result? {
        guard var value = take() else { return nil }
        let result = body(&value)
        self = consume value
        return result
    }

    fileprivate borrowing func read<Result>(_ body: (borrowing ProviderConnection) -> Result) -> Result? {
        switch self {
        case .some(let value): body(value)
        case .none: nil
        }
    }
}
