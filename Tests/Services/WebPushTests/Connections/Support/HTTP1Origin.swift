import PushLoop
import PushTransport
import TestSupport

@testable import PushSimulator

/// The push service of an origin that has HTTP/1.1 alone, on a real TLS socket, with the judgment of the simulator. Used on
/// its loop.
final class HTTP1Origin {
    private let server: HTTP1Server
    private var state: WebPushConnection
    var machine = WebPushMachine()
    let port: UInt16
    private var open = 0
    /// The largest number of requests at once.
    private(set) var maxOpen = 0
    /// What happens to the requests from now on.
    var conduct = Conduct.answers

    enum Conduct { case answers, cuts, delays }

    init(on loop: EventLoop, alpn: [String]) throws {
        let tls = try TLSContext.server(
            TLSServerConfiguration(identity: TestCertificates.shared.serverIdentity, alpn: alpn))
        weak var origin: HTTP1Origin?
        server = HTTP1Server(on: loop, tls: tls) { request, responder in
            origin?.take(request, with: responder, on: loop)
        }
        port = try server.listen(host: "127.0.0.1", port: 0)
        state = machine.arrive()
        machine.origin = "https://127.0.0.1:\(port)"
        origin = self
    }

    func stop() { server.close {} }

    private func take(_ request: HTTP1Request, with responder: HTTP1Responder, on loop: EventLoop) {
        open += 1
        maxOpen = max(maxOpen, open)
        var given = WebPushRequest()
        given.method = request.method.rawValue
        given.path = request.target
        given.authorization = request.headers["authorization"]
        given.ttl = request.headers["ttl"]
        given.urgency = request.headers["urgency"]
        given.topic = request.headers["topic"]
        given.encoding = request.headers["content-encoding"]
        given.body = request.body
        given.bodyCount = request.body.count
        let reaction = machine.receive(given, stream: 1, on: &state, now: .current())
        switch conduct {
        case .answers: answer(reaction, with: responder)
        // The connection ends without an answer when the server is closed.
        case .cuts: server.close {}
        case .delays:
            let late = LoopBound((reaction, responder), on: loop)
            _ = loop.schedule(after: .milliseconds(5)) { [self] in answer(late.wrapped.0, with: late.wrapped.1) }
        }
    }

    private func answer(_ reaction: WebPushReaction, with responder: HTTP1Responder) {
        open -= 1
        var headers: HTTP1Headers = [:]
        for (name, value) in reaction.fields { headers.add("\(name)", value: value) }
        try? responder.respond(status: Int(reaction.status), headers: headers, body: reaction.body)
    }
}
