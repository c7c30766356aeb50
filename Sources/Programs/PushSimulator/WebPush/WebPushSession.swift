import PushLoop
import PushTransport

/// One connection to the simulated push service. It belongs to its event loop.
final class WebPushSession {
    private unowned let service: WebPushService
    private var connection: HTTP2ServerConnection?
    private var state: WebPushConnection
    /// The answers that a fault delays, by stream.
    private var delayed: DelayedAnswers<WebPushReaction>
    /// Whether `abort` was called. The service may no longer exist then.
    private var isAborted = false

    init(_ socket: consuming Socket, tls: TLSEngine, state: WebPushConnection, of service: WebPushService) {
        self.service = service
        delayed = DelayedAnswers(on: service.loop)
        self.state = state
        var options = HTTP2ServerConnection.Options()
        options.settings = HTTP2Settings(
            maxConcurrentStreams: state.streamLimit ?? service.options.streamLimit, maxHeaderListSize: 16_384)
        connection = HTTP2ServerConnection(socket, on: service.loop, tls: tls, options: options, delegate: self)
    }

    func abort() {
        isAborted = true
        _ = delayed.takeAll()
        connection?.channel.abort()
    }

    // MARK: Executing reactions

    private func perform(_ reaction: WebPushReaction, stream: Int32, on connection: HTTP2ServerConnection) {
        if let limit = reaction.streamLimit {
            connection.engine.update(HTTP2Settings(maxConcurrentStreams: limit))
        }
        switch reaction.action {
        case .ignore: break
        case .silence:
            // Send the answers to earlier requests of the same batch first.
            connection.flushNow()
            connection.isMute = true
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
        if let goAway = reaction.goAway { connection.send(goAway) }
    }

    private func wait(_ reaction: WebPushReaction, stream: Int32) {
        delayed.add(reaction, on: stream, after: reaction.delay) { [weak self] in
            guard let self, let reaction = delayed.take(stream), let connection else { return }
            answer(reaction, stream: stream, on: connection)
            connection.flush()
        }
    }

    private func answer(_ reaction: WebPushReaction, stream: Int32, on connection: HTTP2ServerConnection) {
        // A GOAWAY frame that is still to be sent drops the answers above its last stream.
        if stream > state.lastStream { return recordLoss(of: reaction.record, stream: stream) }
        if case .reset(let code) = reaction.action {
            connection.engine.reset(stream, code: HTTP2ErrorCode(rawValue: code))
            return
        }
        let isTaken = connection.engine.answer(
            stream, status: HTTP2Status(Int(reaction.status)), fields: reaction.fields, body: reaction.body)
        if !isTaken { recordLoss(of: reaction.record, stream: stream) }
    }

    /// Records that the answer did not reach the sender. Above the last stream of a GOAWAY frame, the request counts as
    /// not processed.
    private func recordLoss(of record: UInt64, stream: Int32) {
        service.machine.answerLost(record)
        if stream > state.lastStream { service.machine.requestUnprocessed(record) }
    }
}

extension WebPushSession: HTTP2ServerConnectionDelegate {
    func http2Opened(_ connection: HTTP2ServerConnection) {
        if state.isClosing {
            connection.channel.close()
            return
        }
        connection.isMute = state.isSilent
        if let goAway = state.goAway { connection.send(goAway) }
    }

    func http2(_ connection: HTTP2ServerConnection, request: HTTP2ServerRequest) {
        if request.hasTruncatedFields {
            let refusal = WebPushRefusal.tooManyFields
            connection.engine.answer(
                request.stream, status: HTTP2Status(Int(refusal.status)), fields: [], body: refusal.body)
            return
        }
        var given = WebPushRequest()
        var cursor = unsafe request.fields
        while let field = unsafe cursor.next() {
            unsafe given.take(name: ByteView(borrowing: field.name), value: ByteView(borrowing: field.value))
        }
        given.body = unsafe Array(request.body)
        given.bodyCount = request.bodyCount
        let reaction = service.machine.receive(given, stream: request.stream, on: &state, now: .current())
        perform(reaction, stream: request.stream, on: connection)
    }

    func http2(_ connection: HTTP2ServerConnection, withdrew stream: Int32) {
        if let reaction = delayed.take(stream) { recordLoss(of: reaction.record, stream: stream) }
    }

    func http2Closed(_ connection: HTTP2ServerConnection, because reason: any Error) {
        self.connection = nil
        if isAborted { return }
        for (stream, reaction) in delayed.takeAll() { recordLoss(of: reaction.record, stream: stream) }
        service.ended(self)
    }
}
