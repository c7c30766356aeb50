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
    private var connections: [ObjectIdentifier: HTTP2ServerConnection] = [:]
    /// The last stream of each connection that ends.
    private var lastStreams: [ObjectIdentifier: Int32] = [:]
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

    /// The address of the token endpoint.
    package var audience: String { "https://\(options.host):\(tokenPort)/token" }

    /// Closes both ports and all connections at once. `whenDone` is called on the loop.
    package func stop(whenDone: @escaping () -> Void = {}) {
        listener?.close()
        listener = nil
        for connection in connections.values { connection.channel.abort() }
        connections = [:]
        guard let server = tokenServer.take() else { return whenDone() }
        server.close { whenDone() }
    }

    private func arrived(_ socket: consuming Socket) {
        guard let engine = try? TLSEngine(context: tls, role: .server) else { return }
        var options = HTTP2ServerConnection.Options()
        options.settings = HTTP2Settings(maxConcurrentStreams: self.options.streamLimit, maxHeaderListSize: 16_384)
        let connection = HTTP2ServerConnection(socket, on: loop, tls: engine, options: options, delegate: self)
        connections[ObjectIdentifier(connection)] = connection
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
    package func http2(_ connection: HTTP2ServerConnection, withdrew stream: Int32) {}

    package func http2Closed(_ connection: HTTP2ServerConnection, because reason: any Error) {
        connections[ObjectIdentifier(connection)] = nil
        lastStreams[ObjectIdentifier(connection)] = nil
    }

    package func http2(_ connection: HTTP2ServerConnection, request: HTTP2ServerRequest) {
        // What arrives behind the last stream was not processed, and the client sends it again.
        if let last = lastStreams[ObjectIdentifier(connection)], request.stream > last { return }
        let text = { (name: StaticString) in
            unsafe request.fields.first(name).map { unsafe String(decoding: $0, as: UTF8.self) } ?? ""
        }
        let reply = machine.message(
            path: text(":path"), authorization: text("authorization"), body: unsafe Array(request.body),
            at: WallTime.current().milliseconds
        ) { message in
            var content = JSONText()
            content.tree(message.content)
            let key = "\(message.target) \(String(decoding: content.bytes, as: UTF8.self))"
            defer { attempts[key, default: 0] += 1 }
            return behavior(message, attempts[key, default: 0])
        }
        send(reply, on: request.stream, of: connection)
    }

    private func send(_ reply: FCMMachine.Reply, on stream: Int32, of connection: HTTP2ServerConnection) {
        switch reply.action {
        case .silence: return
        case .cut:
            connection.flushNow()
            connection.channel.close()
            return
        case .answer, .goAway: break
        }
        var fields: [(StaticString, String)] = [("content-type", "application/json; charset=UTF-8")]
        if let time = reply.retryAfter { fields.append(("retry-after", time)) }
        connection.engine.answer(stream, status: HTTP2Status(reply.status), fields: fields, body: reply.body)
        if reply.action == .goAway {
            lastStreams[ObjectIdentifier(connection)] = connection.engine.lastStream
            connection.closeGracefully()
        }
    }
}
