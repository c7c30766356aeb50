import PushTransport

/// A client engine and a server engine connected in memory. The test controls every byte between them.
final class HTTP2Pair {
    let client: HTTP2ClientEngine
    let server: HTTP2ServerEngine
    let clientLog = HTTP2ClientLog()
    let serverLog = HTTP2ServerLog()
    /// The maximum number of bytes that are passed at once.
    var pieceSize = Int.max
    private(set) var clientBytes = 0

    init(
        server settings: HTTP2Settings = HTTP2Settings(maxConcurrentStreams: 100),
        limits: HTTP2ClientEngine.Limits = .init(), serverLimits: HTTP2ServerEngine.Limits = .init()
    ) {
        client = HTTP2ClientEngine(
            settings: HTTP2Settings(enablePush: false), limits: limits, delegate: clientLog)
        server = HTTP2ServerEngine(settings: settings, limits: serverLimits, delegate: serverLog)
    }

    /// Transfers bytes in both directions until neither side has more to send.
    func settle() throws {
        while true {
            let up = try pullClient()
            let down = try pullServer()
            if up.isEmpty, down.isEmpty { return }
            try feedServer(up)
            try feedClient(down)
        }
    }

    func pullClient() throws -> [UInt8] {
        var bytes: [UInt8] = []
        try client.pull(upTo: .max) { bytes.append(contentsOf: $0) }
        clientBytes += bytes.count
        return bytes
    }

    func pullServer() throws -> [UInt8] {
        var bytes: [UInt8] = []
        try server.pull(upTo: .max) { bytes.append(contentsOf: $0) }
        return bytes
    }

    func feedServer(_ bytes: [UInt8]) throws {
        try inPieces(bytes) { try server.receive($0) }
    }

    func feedClient(_ bytes: [UInt8]) throws {
        try inPieces(bytes) { try client.receive($0) }
    }

    private func inPieces(_ bytes: [UInt8], _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        try bytes.withUnsafeBytes { all in
            var start = 0
            while start < all.count {
                let end = min(all.count, start + min(pieceSize, all.count))
                try body(UnsafeRawBufferPointer(rebasing: all[start..<end]))
                start = end
            }
        }
    }

    /// A push as a gateway sends it, with its own path and id.
    static let body = Array("{\"aps\":{}}".utf8)

    static func request() -> HTTP2PreparedRequest {
        HTTP2PreparedRequest(
            [
                .init(":method", value: .fixed("POST")), .init(":scheme", value: .fixed("https")),
                .init(":authority", value: .fixed("push.example")), .init(":path", value: .perRequest, indexed: .once),
                .init("authorization", value: .fixed("bearer " + String(repeating: "t", count: 240))),
                .init("apns-topic", value: .fixed("com.example.shop")),
                .init("apns-id", value: .perRequest, indexed: .once),
            ])
    }

    @discardableResult
    func submit(
        _ request: HTTP2PreparedRequest = HTTP2Pair.request(), body: [UInt8]? = HTTP2Pair.body, number: Int
    ) -> Bool {
        client.submit(
            request, values: [Array("/3/device/\(number)".utf8), Array("id-\(number)".utf8)], body: body,
            tag: UInt64(number)) == .taken
    }
}

final class HTTP2ClientLog: HTTP2ClientDelegate {
    struct Answer: Equatable {
        var tag: UInt64
        var status: Int
        var id: String?
        var body: String
        var isTruncated = false
    }

    var answers: [Answer] = []
    var failures: [UInt64: HTTP2StreamFailure] = [:]
    var limits: [Int] = []
    var goAways: [HTTP2GoAway] = []
    /// The order of the calls.
    var order: [String] = []
    /// Called with each answer, after it was recorded.
    var whenAnswered: () -> Void = {}

    func http2Settings(streamLimit limit: Int) {
        limits.append(limit)
    }

    func http2Answered(tag: UInt64, with response: HTTP2Response) {
        order.append("answered \(tag)")
        answers.append(
            Answer(
                tag: tag, status: response.status, id: response.field("apns-id"),
                body: String(decoding: response.body, as: UTF8.self), isTruncated: response.isTruncated))
        whenAnswered()
    }

    func http2Unanswered(tag: UInt64, because failure: HTTP2StreamFailure) {
        order.append("unanswered \(tag)")
        precondition(failures[tag] == nil, "request \(tag) ended twice")
        failures[tag] = failure
    }

    func http2GoAway(_ goAway: HTTP2GoAway) {
        order.append("goaway")
        goAways.append(goAway)
    }
}

final class HTTP2ServerLog: HTTP2ServerDelegate {
    struct Request: Equatable {
        var stream: Int32
        var path: String
        var id: String
        var body: String
        var bodyCount: Int
        var fieldNames: [String]
        var hasTruncatedFields = false
    }

    var requests: [Request] = []
    var withdrawn: [Int32: HTTP2ErrorCode] = [:]
    /// If set, it is called with each request to answer it at once.
    var answersWith: ((HTTP2ServerEngine, Request) -> Void)?

    func http2(_ engine: HTTP2ServerEngine, request: HTTP2ServerRequest) {
        var names: [String] = []
        var cursor = request.fields
        while let field = cursor.next() { names.append(String(decoding: field.name, as: UTF8.self)) }
        let text = { (name: StaticString) in
            request.fields.first(name).map { String(decoding: $0, as: UTF8.self) } ?? ""
        }
        let record = Request(
            stream: request.stream, path: text(":path"), id: text("apns-id"),
            body: String(decoding: request.body, as: UTF8.self), bodyCount: request.bodyCount, fieldNames: names,
            hasTruncatedFields: request.hasTruncatedFields)
        requests.append(record)
        answersWith?(engine, record)
    }

    func http2(_ engine: HTTP2ServerEngine, withdrew stream: Int32, code: HTTP2ErrorCode) {
        withdrawn[stream] = code
    }

    static func accept(_ engine: HTTP2ServerEngine, _ request: Request) {
        engine.answer(request.stream, status: HTTP2Status(200), fields: [("apns-id", request.id)], body: [])
    }
}
