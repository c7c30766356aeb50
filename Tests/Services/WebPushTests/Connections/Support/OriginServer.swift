import PushGateways
import PushLoop
import PushModel
import PushTransport
import TestSupport

@testable import WebPush

/// The push service of one origin, on a real TLS socket. Used on its loop.
final class OriginServer: HTTP2ServerConnectionDelegate {
    private let loop: EventLoop
    private let context: TLSContext
    private var listener: TCPListener?
    private(set) var connections: [HTTP2ServerConnection] = []
    private(set) var received = 0
    /// The status of all answers; nil for none.
    private let status: Int?

    /// - Parameter name: the name for which the certificate is issued.
    init(on loop: EventLoop, name: String, status: Int?) throws {
        self.loop = loop
        self.status = status
        let request = CertificateRequest(commonName: name, usage: .server, dnsNames: [name])
        let identity = try TestCertificates.shared.authority.issue(request).identity
        context = try .server(TLSServerConfiguration(identity: identity, alpn: ["h2"]))
        listener = try TCPListener(on: loop, at: HostPort(host: "127.0.0.1", port: 0)) { [unowned self] socket in
            guard let tls = try? TLSEngine(context: context, role: .server) else { return }
            connections.append(
                HTTP2ServerConnection(
                    socket, on: loop, tls: tls, options: HTTP2ServerConnection.Options(), delegate: self))
        }
    }

    var port: UInt16 { listener?.address.port ?? 0 }

    func stop() {
        listener?.close()
        for connection in connections { connection.channel.abort() }
    }

    func http2Opened(_ connection: HTTP2ServerConnection) {}
    func http2(_ connection: HTTP2ServerConnection, withdrew stream: Int32) {}
    func http2Closed(_ connection: HTTP2ServerConnection, because reason: any Error) {}

    func http2(_ connection: HTTP2ServerConnection, request: HTTP2ServerRequest) {
        received += 1
        guard let status else { return }
        connection.engine.answer(request.stream, status: HTTP2Status(status), fields: [], body: [])
    }
}
