import PushLoop
import PushTransport
import TestSupport

/// An HTTP/2 server on a real TLS socket. The test sets its behavior per request.
final class TestHTTP2Server: HTTP2ServerConnectionDelegate {
    typealias Behaviour = (HTTP2ServerConnection, _ stream: Int32, _ path: String, _ id: String) -> Void

    private let loop: EventLoop
    private let context: TLSContext
    private var listener: TCPListener?
    private(set) var connections: [HTTP2ServerConnection] = []
    private(set) var paths: [String] = []
    private(set) var closures: [String] = []
    var options = TestHTTP2Server.patient
    var behaviour: Behaviour = { connection, stream, _, id in
        connection.engine.answer(stream, status: HTTP2Status(200), fields: [("apns-id", id)], body: [])
    }
    /// Called when TLS is established.
    var opened: (HTTP2ServerConnection) -> Void = { _ in }

    static var patient: HTTP2ServerConnection.Options {
        var options = HTTP2ServerConnection.Options()
        options.handshakeTimeout = .seconds(300)
        return options
    }

    init(on loop: EventLoop, context: TLSContext) throws {
        self.loop = loop
        self.context = context
        listener = try TCPListener(on: loop, HostPort(host: "127.0.0.1", port: 0)) { [unowned self] socket in
            guard let tls = try? TLSEngine(context: context, role: .server) else { return }
            connections.append(
                HTTP2ServerConnection(socket, on: loop, tls: tls, options: options, delegate: self))
        }
    }

    var port: UInt16 { listener?.address.port ?? 0 }

    func stop() {
        listener?.close()
        for connection in connections { connection.channel.abort() }
    }

    func http2Opened(_ connection: HTTP2ServerConnection) {
        opened(connection)
    }

    func http2(_ connection: HTTP2ServerConnection, request: HTTP2ServerRequest) {
        let text = { (name: StaticString) in
            request.fields.first(name).map { String(decoding: $0, as: UTF8.self) } ?? ""
        }
        paths.append(text(":path"))
        behaviour(connection, request.stream, text(":path"), text("apns-id"))
    }

    func http2(_ connection: HTTP2ServerConnection, withdrew stream: Int32) {}

    func http2Closed(_ connection: HTTP2ServerConnection, _ reason: any Error) {
        closures.append("\(reason)")
    }
}

enum ClientEvent: Sendable, Equatable {
    case settings(Int)
    case answered(UInt64, Int, id: String?)
    case unanswered(UInt64, HTTP2StreamFailure)
    case goAway(HTTP2GoAway)
    case closed(String)

    var isClosed: Bool {
        if case .closed = self { true } else { false }
    }
}

/// A delegate that records all events of a client connection.
final class ClientRecorder: HTTP2ClientConnectionDelegate {
    let events: EventRecorder<ClientEvent>
    var onSettings: () -> Void = {}
    var onBatch: () -> Void = {}

    init(_ events: EventRecorder<ClientEvent>) {
        self.events = events
    }

    func http2Settings(streamLimit limit: Int) {
        events.record(.settings(limit))
        onSettings()
    }

    func http2Answered(tag: UInt64, _ response: HTTP2Response) {
        events.record(.answered(tag, response.status, id: response.field("apns-id")))
    }

    func http2Unanswered(tag: UInt64, _ failure: HTTP2StreamFailure) {
        events.record(.unanswered(tag, failure))
    }

    func http2GoAway(_ goAway: HTTP2GoAway) {
        events.record(.goAway(goAway))
    }

    func http2Closed(_ closure: HTTP2Closure) {
        events.record(.closed("\(closure)"))
    }

    func http2BatchEnded() {
        onBatch()
    }
}

/// A server and clients on one loop, on which all of them are used.
final class HTTP2Scene {
    let loop: EventLoop
    let server: TestHTTP2Server
    let resolver: NameResolver
    var clients: [HTTP2ClientConnection] = []
    var recorders: [ClientRecorder] = []

    /// Options for tests that do not concern time, so that a slow machine does not fail them.
    static var patient: HTTP2ClientConnection.Options {
        var options = HTTP2ClientConnection.Options()
        options.connectTimeout = .seconds(300)
        options.pingAfter = nil
        return options
    }

    init(on loop: EventLoop, resolver: NameResolver, server: TLSContext) throws {
        self.loop = loop
        self.resolver = resolver
        self.server = try TestHTTP2Server(on: loop, context: server)
    }

    func connect(
        to place: HostPort? = nil, serverName: String? = nil, tls: TLSContext,
        options: HTTP2ClientConnection.Options = HTTP2Scene.patient, events: EventRecorder<ClientEvent>
    ) {
        let recorder = ClientRecorder(events)
        recorders.append(recorder)
        clients.append(
            HTTP2ClientConnection(
                on: loop, to: place ?? HostPort(host: "127.0.0.1", port: server.port), serverName: serverName, tls: tls,
                resolver: resolver, options: options, delegate: recorder))
    }

    func submit(_ number: Int, client: Int = 0, request: HTTP2PreparedRequest = HTTP2Pair.request()) -> Bool {
        clients[client].submit(
            request, values: [Array("/3/device/\(number)".utf8), Array("id-\(number)".utf8)], body: HTTP2Pair.body,
            tag: UInt64(number))
    }

    func stop() {
        for client in clients { client.close() }
        server.stop()
    }
}
