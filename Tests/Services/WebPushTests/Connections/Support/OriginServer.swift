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

/// Writes requests without content.
final class PlainWriter: RequestWriter {
    private let fields: HTTP2PreparedRequest

    init(_ origin: Origin) {
        fields = HTTP2PreparedRequest([
            .init(":method", value: .fixed("POST")), .init(":scheme", value: .fixed("https")),
            .init(":authority", value: .fixed(origin.authority)), .init(":path", value: .fixed("/push")),
        ])
    }

    func use(_ token: ProviderToken) {}

    func request(for delivery: borrowing Delivery) -> WrittenRequest {
        WrittenRequest(fields, values: UnsafeBufferPointer(start: nil, count: 0), body: [])
    }

    func result(of response: HTTP2Response) -> AttemptResult {
        if (200..<300).contains(response.status) { return .accepted(providerID: nil) }
        return .refused(Refusal(status: response.status, reason: nil))
    }

    func reason(ofGoAway data: [UInt8]) -> ProviderReason? { nil }
}
