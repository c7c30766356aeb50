import PushLoop
import PushTransport
import TestSupport

/// An HTTP/2 server on a real TLS socket. The test sets its behavior per request.
final class TestHTTP2Server: HTTP2ServerConnectionDelegate {
    typealias Behavior = (HTTP2ServerConnection, _ stream: Int32, _ path: String, _ id: String) -> Void

    private let loop: EventLoop
    private let context: TLSContext
    private var listener: TCPListener?
    private(set) var connections: [HTTP2ServerConnection] = []
    private(set) var paths: [String] = []
    private(set) var closures: [String] = []
    var options = TestHTTP2Server.patient
    var behavior: Behavior = { connection, stream, _, id in
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
        listener = try TCPListener(on: loop, at: HostPort(host: "127.0.0.1", port: 0)) { [unowned self] socket in
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
        behavior(connection, request.stream, text(":path"), text("apns-id"))
    }

    func http2(_ connection: HTTP2ServerConnection, withdrew stream: Int32) {}

    func http2Closed(_ connection: HTTP2ServerConnection, because reason: any Error) {
        closures.append("\(reason)")
    }
}
