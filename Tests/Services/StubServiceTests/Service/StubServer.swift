import PushLoop
import PushModel
import PushTransport
import PushWire
import TestSupport

/// A request as the server received it.
struct StubRequest: Sendable {
    let path: String
    /// The name in the address.
    let name: String
    let kind: String
    let urgency: Int64
    /// The payload.
    let content: String
    /// The member `m` of the member `data` of the payload.
    let message: String?
}

/// How the server answers a request.
enum StubAnswer: Sendable, Equatable {
    case taken(status: Int)
    case refused(status: Int, ProviderReason, retryAfter: Int? = nil)
    /// The answer never comes.
    case silence
    /// The request is taken, and the connection ends with GOAWAY.
    case takenLast
}

/// The server of the stub, on a real TLS socket and on its own loop. It records what it received and how it answered.
final class StubServer: HTTP2ServerConnectionDelegate {
    struct Record: Sendable {
        let request: StubRequest
        let answer: StubAnswer
        /// The value of `location`, if the request was taken.
        let location: String?
    }

    private let loop: EventLoop
    private let context: TLSContext
    private var listener: TCPListener?
    private var connections: [HTTP2ServerConnection] = []
    /// The last stream of each connection that ends.
    private var lastStreams: [ObjectIdentifier: Int32] = [:]
    private(set) var records: [Record] = []
    /// The number of requests with the same message and address.
    private var attempts: [String: Int] = [:]
    /// The number of requests that were not answered.
    private(set) var silences: UInt64 = 0
    /// The only valid key.
    var key = "first"
    /// How it answers a request with a valid key, by the number of earlier requests with the same message and address.
    var behavior: @Sendable (StubRequest, _ earlier: Int) -> StubAnswer = StubServer.byName

    init(on loop: EventLoop) throws {
        self.loop = loop
        context = try TestCertificates.shared.serverContext(alpn: ["h2"])
        listener = try TCPListener(on: loop, at: HostPort(host: "127.0.0.1", port: 0)) { [unowned self] socket in
            guard let tls = try? TLSEngine(context: context, role: .server) else { return }
            var options = HTTP2ServerConnection.Options()
            options.handshakeTimeout = .seconds(300)
            connections.append(HTTP2ServerConnection(socket, on: loop, tls: tls, options: options, delegate: self))
        }
    }

    var port: UInt16 { listener?.address.port ?? 0 }

    func stop() {
        listener?.close()
        for connection in connections { connection.channel.abort() }
    }

    /// Answers as the first word of the address asks for.
    static let byName: @Sendable (StubRequest, Int) -> StubAnswer = { request, earlier in
        switch request.name.prefix(while: { $0 != "-" }) {
        case "gone": .refused(status: 404, .addressEnded)
        case "other": .refused(status: 409, .ofAnotherApp)
        case "busy" where earlier == 0: .refused(status: 503, .overloaded, retryAfter: 3)
        case "bad": .refused(status: 400, .textRefused)
        case "silent" where earlier == 0: .silence
        default: .taken(status: 201)
        }
    }

    // MARK: Connections

    func http2Opened(_ connection: HTTP2ServerConnection) {}
    func http2(_ connection: HTTP2ServerConnection, withdrew stream: Int32) {}
    func http2Closed(_ connection: HTTP2ServerConnection, because reason: any Error) {}

    func http2(_ connection: HTTP2ServerConnection, request: HTTP2ServerRequest) {
        // What arrives behind the last stream was not processed, and the client sends it again.
        if let last = lastStreams[ObjectIdentifier(connection)], request.stream > last { return }
        let text = { (name: StaticString) in
            request.fields.first(name).map { String(decoding: $0, as: UTF8.self) } ?? ""
        }
        guard let read = StubRequest(path: text(":path"), body: Array(request.body)) else {
            connection.engine.answer(request.stream, status: HTTP2Status(422), fields: [], body: [])
            return
        }
        let earlier = attempts["\(read.message ?? "") \(read.name)", default: 0]
        attempts["\(read.message ?? "") \(read.name)"] = earlier + 1
        let answer =
            text("stub-key") == key ? behavior(read, earlier) : .refused(status: 401, .keyRefused, retryAfter: nil)
        let location = "\(read.name.prefix(20))/\(records.count)"
        var isTaken = true
        switch answer {
        case .taken(let status): accept(request.stream, of: connection, status: status, location: location)
        case .takenLast:
            accept(request.stream, of: connection, status: 200, location: location)
            lastStreams[ObjectIdentifier(connection)] = connection.engine.lastStream
            connection.closeGracefully(debugData: Array("stub-error MOVING".utf8))
        case .refused(let status, let reason, let retryAfter):
            isTaken = false
            connection.engine.answer(
                request.stream, status: HTTP2Status(status),
                fields: retryAfter.map { [("retry-after", "\($0)")] } ?? [], body: Array("stub-error \(reason)".utf8))
        case .silence:
            isTaken = false
            silences += 1
        }
        records.append(Record(request: read, answer: answer, location: isTaken ? location : nil))
    }

    private func accept(_ stream: Int32, of connection: HTTP2ServerConnection, status: Int, location: String) {
        connection.engine.answer(
            stream, status: HTTP2Status(status), fields: [("location", location)], body: [])
    }
}

extension StubRequest {
    /// Nil if the body is not a request.
    fileprivate init?(path: String, body: [UInt8]) {
        guard let document = try? JSONDocument(body), document.kind(document.root) == .object else { return nil }
        func value(_ key: StaticString) -> JSONDocument.Position? { document.value(key, in: document.root) }
        guard let name = value("to").flatMap({ document.string($0) }),
            let kind = value("kind").flatMap({ document.string($0) }),
            let urgency = value("urgency").flatMap({ document.integer($0) }), let content = value("content")
        else { return nil }
        message = document.value("data", in: content)
            .flatMap { document.value("m", in: $0) }.flatMap { document.string($0) }
        self.path = path
        self.name = name
        self.kind = kind
        self.urgency = urgency
        self.content = String(decoding: document.text(content), as: UTF8.self)
    }
}
