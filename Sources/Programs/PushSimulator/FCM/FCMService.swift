package import PushLoop
package import PushTransport

/// The simulated FCM on sockets: the endpoint of messages over HTTP/2, and the endpoint of access tokens over HTTP/1.1,
/// which has a port of its own. It belongs to its event loop.
package final class FCMService: HTTP2ServerConnectionDelegate {
    package struct Options: Sendable {
        package var host = "127.0.0.1"
        package var port: UInt16 = 0
        package var tokenPort: UInt16 = 0
        /// The certificate and key of both endpoints.
        package var identity: TLSIdentity
        package var account: FCMAccount
        /// The maximum number of open streams of a connection.
        package var streamLimit: UInt32 = 100

        package init(identity: TLSIdentity, account: FCMAccount) {
            self.identity = identity
            self.account = account
        }
    }

    private let loop: EventLoop
    private let options: Options
    private let tls: TLSContext
    package var machine: FCMMachine
    private var listener: TCPListener?
    private var tokenServer: HTTP1Server?
    package private(set) var tokenPort: UInt16 = 0
    private struct Held {
        let connection: HTTP2ServerConnection
        let number: UInt32
        var requests: UInt64 = 0
        /// The last stream of a connection that ends.
        var lastStream = Int32.max
        var delayed: DelayedAnswers<FCMMachine.Reply>
    }

    private var held: [ObjectIdentifier: Held] = [:]
    private var connectionCount: UInt32 = 0
    /// The rules for messages with which nothing is wrong. They come before ``behavior``.
    var faults = Faults()
    /// The number of messages with the same content and target.
    private var attempts: [String: Int] = [:]
    /// How a message is answered, by the number of earlier ones with the same content and target.
    package var behavior: (FCMMessage, _ earlier: Int) -> FCMReaction = { message, _ in
        FCMReaction.byName(message.target)
    }

    /// Listens on both ports. Must be called on the event loop.
    package init(on loop: EventLoop, options: Options) throws {
        self.loop = loop
        self.options = options
        machine = FCMMachine(options.account)
        tls = try .server(TLSServerConfiguration(identity: options.identity, alpn: ["h2"]))
        let http1 = try TLSContext.server(TLSServerConfiguration(identity: options.identity, alpn: ["http/1.1"]))
        let server = HTTP1Server(on: loop, tls: http1) { [weak self] request, responder in
            self?.answer(request, with: responder)
        }
        tokenPort = try server.listen(host: options.host, port: options.tokenPort)
        tokenServer = server
        machine.audience = audience
        do {
            listener = try TCPListener(on: loop, at: HostPort(host: options.host, port: options.port)) {
                [unowned self] in arrived($0)
            }
        } catch {
            server.close {}
            throw error
        }
    }

    package var port: UInt16 { listener?.address.port ?? 0 }

    package var openConnections: Int { held.count }

    /// The address of the token endpoint.
    package var audience: String { "https://\(options.host):\(tokenPort)/token" }

    /// Closes both ports and all connections at once. `whenDone` is called on the loop.
    package func stop(whenDone: @escaping () -> Void = {}) {
        listener?.close()
        listener = nil
        for var one in held.values {
            _ = one.delayed.takeAll()
            one.connection.channel.abort()
        }
        held = [:]
        guard let server = tokenServer.take() else { return whenDone() }
        server.close { whenDone() }
    }

    private func arrived(_ socket: consuming Socket) {
        guard let engine = try? TLSEngine(context: tls, role: .server) else { return }
        var options = HTTP2ServerConnection.Options()
        options.settings = HTTP2Settings(maxConcurrentStreams: self.options.streamLimit, maxHeaderListSize: 16_384)
        let connection = HTTP2ServerConnection(socket, on: loop, tls: engine, options: options, delegate: self)
        connectionCount &+= 1
        held[ObjectIdentifier(connection)] = Held(
            connection: connection, number: connectionCount, delayed: DelayedAnswers(on: loop))
    }

    // MARK: Tokens

    private func answer(_ request: HTTP1Request, with responder: HTTP1Responder) {
        let reply =
            request.method == .post && request.target == "/token"
            ? machine.token(for: request.body, at: WallTime.current().milliseconds)
            : FCMMachine.Reply(status: 404, body: [])
        do throws(HTTP1Error) {
            try responder.respond(
                status: reply.status, headers: ["content-type": "application/json; charset=UTF-8"], body: reply.body)
        } catch {
            // The responder answers with status 500 when it is dropped.
        }
    }

    // MARK: Messages

    package func http2Opened(_ connection: HTTP2ServerConnection) {}

    package func http2(_ connection: HTTP2ServerConnection, withdrew stream: Int32) {
        _ = held[ObjectIdentifier(connection)]?.delayed.take(stream)
    }

    package func http2Closed(_ connection: HTTP2ServerConnection, because reason: any Error) {
        var one = held.removeValue(forKey: ObjectIdentifier(connection))
        _ = one?.delayed.takeAll()
    }

    package func http2(_ connection: HTTP2ServerConnection, request: HTTP2ServerRequest) {
        let id = ObjectIdentifier(connection)
        // What arrives behind the last stream was not processed, and the client sends it again.
        guard let one = held[id], request.stream <= one.lastStream else { return }
        held[id]?.requests += 1
        let decision =
            faults.isEmpty
            ? FaultDecision()
            : faults.decide(FaultFacts(moment: .request, connection: one.number, request: one.requests + 1))
        let text = { (name: StaticString) in
            unsafe request.fields.first(name).map { unsafe String(decoding: $0, as: UTF8.self) } ?? ""
        }
        var reply = machine.message(
            path: text(":path"), authorization: text("authorization"), body: unsafe Array(request.body),
            at: WallTime.current().milliseconds
        ) { message in
            var content = JSONText()
            content.tree(message.content)
            let key = "\(message.target) \(String(decoding: content.bytes, as: UTF8.self))"
            defer { attempts[key, default: 0] += 1 }
            if let effect = decision.effect {
                return .fault(effect, isProcessed: decision.isProcessed, custom: faults.script.customReasons)
            }
            return behavior(message, attempts[key, default: 0])
        }
        reply.delay = decision.delay
        send(reply, on: request.stream, of: connection)
    }

    private func send(_ reply: FCMMachine.Reply, on stream: Int32, of connection: HTTP2ServerConnection) {
        let id = ObjectIdentifier(connection)
        if reply.delay > 0 {
            held[id]?.delayed.add(reply, on: stream, after: reply.delay) { [weak self] in
                guard let self, var reply = held[id]?.delayed.take(stream) else { return }
                reply.delay = 0
                send(reply, on: stream, of: connection)
                connection.flush()
            }
            return
        }
        var isLast = false
        switch reply.action {
        case .silence: return
        case .reset(let code):
            connection.engine.reset(stream, code: HTTP2ErrorCode(rawValue: code))
            return
        case .cut:
            connection.flushNow()
            connection.channel.close()
            return
        case .answer: break
        case .goAway: isLast = true
        }
        var fields: [(StaticString, String)] = [("content-type", "application/json; charset=UTF-8")]
        if let time = reply.retryAfter { fields.append(("retry-after", time)) }
        connection.engine.answer(stream, status: HTTP2Status(reply.status), fields: fields, body: reply.body)
        if isLast {
            held[id]?.lastStream = connection.engine.lastStream
            connection.closeGracefully()
        }
    }
}
