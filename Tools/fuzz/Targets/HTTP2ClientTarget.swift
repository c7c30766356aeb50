import PushTransport

extension FuzzTarget {
    /// A client engine and a hostile server: each request ends exactly once.
    static let http2Client = FuzzTarget(
        name: "http2-client",
        seeds: {
            // Each seed starts with no habits, SETTINGS and two requests in flight. Then follow, per seed: answers,
            // trailers, an informational response, GOAWAY, a flood, a raw frame, another protocol, and a server with
            // few streams.
            let begin: [UInt8] = [2, 0x05, 1, 3, 0, 0, 0, 100, 0x0c, 2, 1, 0x61, 0, 0x0d, 255, 255]
            return [
                begin + [0x03, 0x05, 1, 0, 0, 0x03, 0x05, 3, 1, 0, 0x0d, 0, 1],
                begin + [0x03, 0x04, 1, 0, 0, 0x04, 0x01, 1, 0, 200, 0x03, 0x04, 3, 2, 0, 0x03, 0x05, 3, 0, 0],
                begin + [0x03, 0x04, 1, 0, 0, 0x03, 0x05, 1, 10, 0, 0x06, 3, 7, 0x0c, 2, 1, 0x62, 0, 0x0d, 0, 9],
                begin + [0x07, 0, 0, 0, 1, 0, 2, 0x7b, 0x7d, 0x03, 0x05, 1, 0, 0, 0x0f, 1],
                begin + [0x09, 0, 0, 0, 0, 1, 0x0b, 200, 0x0d, 9, 9, 0x08, 0, 0, 0, 255, 255, 0x0e, 1, 0x0d, 9, 9],
                begin + [0x01, 1, 5, 1, 1, 0x88, 0x21, 1, 0x24, 3, 2, 0x88, 0x88, 1, 0x0d, 1, 1],
                [0, 0x00, 24] + Array("HTTP/1.1 400 Bad Request".utf8),
                [
                    20, 0x05, 1, 3, 0, 0, 0, 1, 0x0c, 3, 0, 0, 0, 0x0d, 255, 255, 0x03, 0x05, 1, 0, 0, 0x06, 3, 7, 0x06,
                    5, 8,
                ],
            ]
        },
        run: { input in
            let peer = ClientUnderTest(&input)
            peer.run(&input)
        })
}

/// Submits requests as the input says, and counts how each one ends.
private final class ClientUnderTest: HTTP2ClientDelegate {
    private static let body = [UInt8](repeating: 0x62, count: 3000)
    private static let request = HTTP2PreparedRequest(fields)
    private static let fields: [HTTP2PreparedRequest.Field] = [
        .init(":method", value: .fixed("POST")), .init(":scheme", value: .fixed("https")),
        .init(":path", value: .perRequest, indexed: .once),
        .init(":authority", value: .fixed("localhost")), .init("apns-id", value: .perRequest, indexed: .once),
    ]
    private static let mostRequests = 100

    private let engine: HTTP2ClientEngine
    private let limits: HTTP2ClientEngine.Limits
    /// The actions of the delegate within its calls.
    private let habits: UInt8
    private var submitted: UInt64 = 0
    private var open: Set<UInt64> = []
    private var abandoned: Set<UInt64> = []
    private var sum = 0

    init(_ input: inout FuzzInput) {
        habits = input.byte()
        var limits = HTTP2ClientEngine.Limits()
        if habits & 1 == 1 {
            limits.maxFieldBytes = 64
            limits.maxBodyBytes = 256
            limits.maxStreams = 4
        }
        self.limits = limits
        engine = HTTP2ClientEngine(
            settings: HTTP2Settings(initialWindowSize: 65_535, enablePush: false), limits: limits, delegate: nil)
        engine.delegate = self
    }

    func run(_ input: inout FuzzInput) {
        var wire = HostileWire()
        do {
            pull(upTo: 1 << 16)
            while !input.isAtEnd {
                let command = input.byte()
                let isFrame = unsafe try wire.follow(command, &input) { piece in
                    unsafe try engine.receive(piece)
                }
                if !isFrame { act(command & 15, &input) }
                // By default the peer reads at once.
                if command & 0x40 == 0 { pull(upTo: 1 << 16) }
            }
            unsafe try engine.pull(upTo: 1 << 20) { sum &+= $0.count }
        } catch {
            // Like a real owner, send the output that explains the error, and close.
            unsafe try? engine.pull(upTo: 1 << 16) { sum &+= $0.count }
        }
        engine.connectionEnded()
        require(open.isEmpty, "requests that did not end: \(open)")
        require(engine.inFlight == 0, "\(engine.inFlight) requests in flight after the end of the connection")
        require(engine.available == 0, "a closed connection accepts requests")
    }

    private func act(_ command: UInt8, _ input: inout FuzzInput) {
        switch command {
        case 0x0c: for _ in 0..<(input.byte() & 15) { submit(&input) }
        case 0x0d: pull(upTo: 1 + input.word())
        case 0x0e: abandon(UInt64(input.byte()))
        default: if input.flag() { engine.terminate() } else { engine.ping(7) }
        }
    }

    private func pull(upTo limit: Int) {
        // An error here is thrown again by the next call, or has no effect because the connection ends.
        unsafe try? engine.pull(upTo: limit) { sum &+= $0.count }
    }

    private func submit(_ input: inout FuzzInput) {
        let path = Array("/3/device/".utf8) + input.take(Int(input.byte() & 63))
        submit(path, withBody: habits & 2 == 0)
    }

    private func submit(_ path: [UInt8], withBody: Bool) {
        guard submitted < Self.mostRequests else { return }
        let room = engine.available
        let tag = submitted
        let submission = engine.submit(Self.request, values: [path, []], body: withBody ? Self.body : nil, tag: tag)
        guard submission == .taken else { return }
        require(room > 0, "a request was accepted although none was allowed")
        submitted += 1
        open.insert(tag)
    }

    private func abandon(_ tag: UInt64) {
        engine.abandon(tag: tag)
        if open.remove(tag) != nil { abandoned.insert(tag) }
    }

    private func ended(_ tag: UInt64) {
        require(!abandoned.contains(tag), "an abandoned request was reported")
        require(open.remove(tag) != nil, "request \(tag) ended twice or was never submitted")
        if habits & 4 != 0 { submit([0x2f], withBody: tag & 1 == 0) }
        if habits & 8 != 0, let other = open.min() { abandon(other) }
    }

    func http2Settings(streamLimit limit: Int) {
        if habits & 16 != 0 { submit([], withBody: true) }
    }

    func http2Answered(tag: UInt64, with response: HTTP2Response) {
        require((200...999).contains(response.status), "a response with status \(response.status)")
        var cursor = unsafe response.fields
        while let field = unsafe cursor.next() {
            unsafe sum &+= field.name.reduce(0) { $0 &+ Int($1) } &+ field.value.reduce(0) { $0 &+ Int($1) }
        }
        unsafe require(response.body.count <= limits.maxBodyBytes, "a body exceeds the limit")
        unsafe sum &+= response.body.reduce(0) { $0 &+ Int($1) }
        _ = response.field("apns-id")
        ended(tag)
    }

    func http2Unanswered(tag: UInt64, because failure: HTTP2StreamFailure) {
        ended(tag)
    }

    func http2GoAway(_ goAway: HTTP2GoAway) {
        require(goAway.debugData.count <= 1024, "the debug data of a GOAWAY exceeds the limit")
        if habits & 4 != 0 { submit([0x2f], withBody: false) }
    }
}
