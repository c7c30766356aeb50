import PushTransport

extension FuzzTarget {
    /// A server engine and a hostile client: each request is answered or withdrawn exactly once.
    static let http2Server = FuzzTarget(
        name: "http2-server",
        seeds: {
            // Each seed starts with the habits and SETTINGS. Then follow, per seed: requests, bodies, trailers, resets,
            // floods, CONTINUATION, GOAWAY.
            let settings: [UInt8] = [0x05, 0]
            return [
                [0] + settings + [0x03, 0x05, 1, 4, 0, 0x03, 0x05, 3, 5, 0, 0x0d, 0, 255],
                [2] + settings + [0x03, 0x04, 1, 4, 0, 0x04, 0x01, 1, 0x20, 0, 0x0c, 1, 9, 0x0d, 255, 255],
                [2] + settings + [
                    0x03, 0x04, 1, 4, 0, 0x04, 0, 1, 0, 9, 0x03, 0x05, 1, 10, 0, 0x0c, 1, 40, 0x0d, 9, 9,
                ],
                [2] + settings + [0x03, 0x05, 1, 4, 0, 0x06, 1, 8, 0x03, 0x05, 3, 4, 0, 0x0e, 3, 0x0d, 0, 99],
                [0] + settings + [0x03, 0x01, 1, 5, 0, 0x0a, 0x04, 1, 3, 0, 1, 0x41, 0x09, 0, 0, 0, 0, 0, 0x0b, 255],
                [2] + settings + [
                    0x03, 0x05, 1, 4, 0, 0x07, 0, 0, 0, 0, 0, 0, 0x03, 0x05, 3, 4, 0, 0x0f, 1, 1, 0x0d, 9, 9,
                ],
                [4] + settings + [0x05, 1, 4, 0, 0, 0, 0, 0x03, 0x05, 1, 4, 0, 0x08, 1, 0, 0, 0, 9, 0x0d, 9, 9],
                [1, 0x00, 18] + Array("GET / HTTP/1.1\r\n\r\n".utf8),
            ]
        },
        run: { input in
            let server = ServerUnderTest(&input)
            server.run(&input)
        })
}

/// Answers requests as the input says, and compares its counters with those of the engine.
private final class ServerUnderTest: HTTP2ServerDelegate {
    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    private let engine: HTTP2ServerEngine
    private let limits: HTTP2ServerEngine.Limits
    private let habits: UInt8
    private var reported: UInt64 = 0
    private var open: Set<Int32> = []
    private var sum = 0

    init(_ input: inout FuzzInput) {
        habits = input.byte()
        var limits = HTTP2ServerEngine.Limits()
        if habits & 8 != 0 {
            limits.maxFieldBytes = 48
            limits.maxBodyBytes = 100
        }
        self.limits = limits
        engine = HTTP2ServerEngine(
            settings: HTTP2Settings(maxConcurrentStreams: 100, maxHeaderListSize: 16_384), limits: limits, delegate: nil
        )
        engine.delegate = self
    }

    func run(_ input: inout FuzzInput) {
        var wire = HostileWire()
        if habits & 1 == 0 { wire.append(Self.preface) }
        do {
            try pull(upTo: 1 << 16)
            while !input.isAtEnd {
                let command = input.byte()
                let isFrame = unsafe try wire.follow(command, &input) { piece in
                    unsafe try engine.receive(piece)
                    keepsBooks()
                }
                if !isFrame { try act(command & 15, &input) }
                // By default the peer reads at once.
                if command & 0x40 == 0 { try pull(upTo: 1 << 16) }
                keepsBooks()
            }
            try pull(upTo: 1 << 20)
        } catch {
            try? pull(upTo: 1 << 16)
        }
        engine.connectionEnded()
        require(open.isEmpty, "requests that were neither answered nor withdrawn: \(open)")
        keepsBooks()
        require(
            !engine.answer(1, status: HTTP2Status(200), fields: [], body: []),
            "a request was answered after the end of the connection")
    }

    private func keepsBooks() {
        require(
            engine.unanswered == open.count, "\(engine.unanswered) requests are unanswered, but \(open.count) are open")
        require(
            engine.requestCount == reported,
            "\(engine.requestCount) requests are counted, but \(reported) were reported")
    }

    private func act(_ command: UInt8, _ input: inout FuzzInput) throws {
        switch command {
        case 0x0c: answer(Int32(input.byte()), length: Int(input.byte()) * 300)
        case 0x0d: try pull(upTo: 1 + input.word())
        case 0x0e: engine.reset(Int32(input.byte()), code: .cancel)
        default:
            switch input.byte() & 3 {
            case 0: engine.update(HTTP2Settings(maxConcurrentStreams: UInt32(input.byte())))
            case 1: engine.goAway(lastStream: Int32(input.byte()), code: .noError, debugData: input.take(8))
            default: engine.ping(7)
            }
        }
    }

    private func pull(upTo limit: Int) throws {
        unsafe try engine.pull(upTo: limit) { sum &+= $0.count }
    }

    private func answer(_ stream: Int32, length: Int) {
        let body = [UInt8](repeating: 0x61, count: length)
        let fields: [(StaticString, String)] = length & 1 == 0 ? [] : [("apns-id", "a"), ("x", "")]
        let isTaken = engine.answer(stream, status: HTTP2Status(200), fields: fields, body: body)
        let wasOpen = open.contains(stream)
        require(!isTaken || wasOpen, "an answer to a closed stream was accepted")
        if isTaken { open.remove(stream) }
    }

    func http2(_ engine: HTTP2ServerEngine, request: HTTP2ServerRequest) {
        require(open.insert(request.stream).inserted, "stream \(request.stream) was reported twice")
        reported += 1
        var cursor = unsafe request.fields
        while let field = unsafe cursor.next() {
            unsafe sum &+= field.name.reduce(0) { $0 &+ Int($1) } &+ field.value.reduce(0) { $0 &+ Int($1) }
        }
        unsafe sum &+= request.body.reduce(0) { $0 &+ Int($1) }
        unsafe require(request.body.count <= limits.maxBodyBytes, "a body exceeds the limit")
        unsafe require(request.bodyCount >= request.body.count, "more of a body was kept than was received")
        if habits & 2 == 0 { answer(request.stream, length: habits & 4 == 0 ? 0 : 20_000) }
        if habits & 16 != 0, let other = open.min() { engine.reset(other, code: .internalError) }
    }

    func http2(_ engine: HTTP2ServerEngine, withdrew stream: Int32, code: HTTP2ErrorCode) {
        require(open.remove(stream) != nil, "stream \(stream) was withdrawn but is not open")
        if habits & 32 != 0, let other = open.min() { answer(other, length: 1) }
    }
}
