import PushTransport
import TestSupport
import Testing

/// Compares the client with one of nghttp2: servers decode the same requests from both, and both decode the same
/// answers.
@Suite struct HTTP2ClientDifferenceTests {
    /// A server that records whole requests.
    private final class Server: HTTP2ServerDelegate {
        struct Request: Equatable {
            var fields: [[String]] = []
            var body: [UInt8]
        }

        var requests: [Int32: Request] = [:]
        private(set) var engine: HTTP2ServerEngine!

        init(_ settings: HTTP2Settings) {
            engine = HTTP2ServerEngine(settings: settings, delegate: self)
        }

        func http2(_ engine: HTTP2ServerEngine, request: HTTP2ServerRequest) {
            var record = Request(body: Array(request.body))
            var cursor = request.fields
            while let field = cursor.next() {
                record.fields.append([field.name, field.value].map { String(decoding: $0, as: UTF8.self) })
            }
            requests[request.stream] = record
        }

        func http2(_ engine: HTTP2ServerEngine, withdrew stream: Int32, code: HTTP2ErrorCode) {}

        func receive(_ bytes: [UInt8]) throws { try bytes.withUnsafeBytes { try engine.receive($0) } }

        func pull() throws -> [UInt8] {
            var bytes: [UInt8] = []
            try engine.pull(upTo: .max) { bytes.append(contentsOf: $0) }
            return bytes
        }
    }

    private final class Client: HTTP2ClientDelegate {
        var outcomes: [Int32: NGHTTP2Client.Outcome] = [:]
        private(set) var engine: HTTP2ClientEngine!

        init() {
            engine = HTTP2ClientEngine(settings: HTTP2Settings(enablePush: false), delegate: self)
        }

        func http2Settings(streamLimit limit: Int) {}
        func http2GoAway(_ goAway: HTTP2GoAway) {}

        func http2Answered(tag: UInt64, with response: HTTP2Response) {
            var fields = [[":status", "\(response.status)"]]
            var cursor = response.fields
            while let field = cursor.next() {
                fields.append([field.name, field.value].map { String(decoding: $0, as: UTF8.self) })
            }
            outcomes[Int32(tag)] = .init(fields: fields, body: String(decoding: response.body, as: UTF8.self), code: 0)
        }

        func http2Unanswered(tag: UInt64, because failure: HTTP2StreamFailure) {
            let code: UInt32 =
                switch failure {
                case .notProcessed: 7
                case .reset(let code): code.rawValue
                case .connectionLost: 4711
                }
            outcomes[Int32(tag)] = .init(code: code)
        }

        func receive(_ bytes: [UInt8]) throws { try bytes.withUnsafeBytes { try engine.receive($0) } }

        func pull() throws -> [UInt8] {
            var bytes: [UInt8] = []
            try engine.pull(upTo: .max) { bytes.append(contentsOf: $0) }
            return bytes
        }
    }

    private typealias Sides = (client: Client, server: Server, other: NGHTTP2Client, otherServer: Server)

    private func settle(_ sides: Sides) throws {
        var isQuiet = false
        while !isQuiet {
            let up = (try sides.client.pull(), sides.other.pull())
            try sides.server.receive(up.0)
            try sides.otherServer.receive(up.1)
            let down = (try sides.server.pull(), try sides.otherServer.pull())
            try sides.client.receive(down.0)
            #expect(sides.other.receive(down.1))
            isQuiet = up.0.isEmpty && up.1.isEmpty && down.0.isEmpty && down.1.isEmpty
        }
    }

    @Test(
        "Both clients send the same requests, and understand the same answers", arguments: 1...12 as ClosedRange<UInt64>
    )
    func bothClientsAgree(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        func settings() -> HTTP2Settings {
            HTTP2Settings(
                headerTableSize: [0, 60, 4096, 65_536].randomElement(using: &random)!, maxConcurrentStreams: 100,
                initialWindowSize: [1000, 65_535, 1 << 20].randomElement(using: &random)!,
                maxFrameSize: [16_384, 20_000].randomElement(using: &random)!)
        }
        let first = settings()
        let sides: Sides = (Client(), Server(first), NGHTTP2Client(), Server(first))
        try settle(sides)
        var next: Int32 = 1
        var open: [Int32] = []
        for _ in 0..<300 {
            switch Int.random(in: 0..<12, using: &random) {
            case 0:
                let change = settings()
                sides.server.engine.update(change)
                sides.otherServer.engine.update(change)
            case 1..<6:
                guard open.count < 50 else { break }
                submit(next, to: sides, &random)
                open.append(next)
                next += 2
            default:
                guard let index = open.indices.randomElement(using: &random) else { break }
                // Small windows delay a request, so a server may not have it yet.
                try settle(sides)
                finish(open.remove(at: index), at: sides, &random)
            }
            if Bool.random(using: &random) { try settle(sides) }
        }
        try settle(sides)
        #expect(sides.server.requests == sides.otherServer.requests)
        #expect(sides.server.requests.count == Int(next / 2))
        let ended = sides.other.outcomes.filter { $0.value.code != nil }.mapValues { outcome in
            outcome.code == 0 ? outcome : .init(code: outcome.code)
        }
        #expect(sides.client.outcomes == ended)
    }

    private func submit(_ stream: Int32, to sides: Sides, _ random: inout SeededRandom) {
        let own = ["/3/device/\(stream)", "\(Int.random(in: 0...3, using: &random))"]
        let fields: [(String, String)] = [
            (":method", "POST"), (":scheme", "https"), (":authority", "push.example"), (":path", own[0]),
            ("authorization", "bearer \(Int.random(in: 0...2, using: &random))"),
            ("apns-push-type", ["alert", "background"].randomElement(using: &random)!), ("apns-id", own[1]),
        ]
        let body = random.bytes([0, 10, 500, 20_000].randomElement(using: &random)!)
        let prepared = HTTP2PreparedRequest(
            fields.enumerated().map { index, field in
                .init(field.0, value: index == 3 || index == 6 ? .perRequest : .fixed(field.1))
            })
        let result = sides.client.engine.submit(
            prepared, values: own.map { Array($0.utf8) }, body: body, tag: UInt64(stream))
        #expect(result == .taken)
        sides.other.submit(fields.map { (name: $0.0, value: $0.1) }, body: body)
    }

    private func finish(_ stream: Int32, at sides: Sides, _ random: inout SeededRandom) {
        let isReset = Int.random(in: 0..<4, using: &random) == 0
        let code = HTTP2ErrorCode(rawValue: UInt32.random(in: 0...13, using: &random))
        let status = HTTP2Status([200, 400, 410, 503].randomElement(using: &random)!)
        // Without an id of their own, several answers in a row have the same head.
        var fields: [(StaticString, String)] = [("retry-after", "\(Int.random(in: 0...1, using: &random))")]
        if Int.random(in: 0..<3, using: &random) == 0 { fields.append(("apns-id", "\(stream)")) }
        let body = Array(String(repeating: "b", count: [0, 30, 50_000].randomElement(using: &random)!).utf8)
        for server in [sides.server, sides.otherServer] {
            if isReset {
                server.engine.reset(stream, code: code)
            } else {
                #expect(server.engine.answer(stream, status: status, fields: fields, body: body))
            }
        }
    }
}
