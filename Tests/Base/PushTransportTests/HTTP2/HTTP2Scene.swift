import PushLoop
import PushTransport
import TestSupport

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
        to endpoint: HostPort? = nil, serverName: String? = nil, tls: TLSContext,
        options: HTTP2ClientConnection.Options = HTTP2Scene.patient, events: EventRecorder<ClientEvent>
    ) {
        let recorder = ClientRecorder(events)
        recorders.append(recorder)
        clients.append(
            HTTP2ClientConnection(
                on: loop, to: endpoint ?? HostPort(host: "127.0.0.1", port: server.port), serverName: serverName,
                tls: tls,
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
