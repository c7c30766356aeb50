import TestSupport
import Testing

@testable import PushTransport

/// What a client does with frames that no server of nghttp2 sends.
@Suite struct HTTP2ClientProtocolTests {
    /// Returns a frame of the server.
    static func frame(_ type: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = []) -> [UInt8] {
        let count = payload.count
        let id = (0..<4).map { UInt8(truncatingIfNeeded: stream >> (24 - 8 * $0)) }
        return [UInt8(count >> 16), UInt8(count >> 8 & 255), UInt8(count & 255), type, flags] + id + payload
    }

    struct Case: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let frames: [UInt8]
        let code: UInt8
    }

    /// Violations that end the connection, after SETTINGS and two requests on the streams 1 and 3.
    static let violations = [
        Case(testDescription: "DATA on stream 0", frames: frame(0), code: 1),
        Case(testDescription: "DATA on a stream that is not open", frames: frame(0, stream: 5), code: 1),
        Case(testDescription: "DATA on a stream of the server", frames: frame(0, stream: 2), code: 1),
        Case(
            testDescription: "HEADERS on a stream of the server", frames: frame(1, flags: 5, stream: 2, [0x88]), code: 1
        ),
        Case(testDescription: "HEADERS on stream 0", frames: frame(1, flags: 5, [0x88]), code: 1),
        Case(testDescription: "padding as long as HEADERS", frames: frame(1, flags: 0x0d, stream: 1, [1]), code: 1),
        Case(
            testDescription: "padding as long as DATA",
            frames: frame(1, flags: 4, stream: 1, [0x88]) + frame(0, flags: 8, stream: 1, [2, 0]), code: 1),
        Case(
            testDescription: "padded DATA without a length",
            frames: frame(1, flags: 4, stream: 1, [0x88]) + frame(0, flags: 8, stream: 1), code: 1),
        Case(
            testDescription: "HEADERS with half a priority", frames: frame(1, flags: 0x25, stream: 1, [0, 0]), code: 6),
        Case(testDescription: "PRIORITY of stream 0", frames: frame(2, [0, 0, 0, 0, 0]), code: 1),
        Case(testDescription: "PRIORITY of four bytes", frames: frame(2, stream: 1, [0, 0, 0, 0]), code: 6),
        Case(
            testDescription: "RST_STREAM of a stream that is not open", frames: frame(3, stream: 5, [0, 0, 0, 8]),
            code: 1),
        Case(testDescription: "RST_STREAM of stream 0", frames: frame(3, [0, 0, 0, 8]), code: 1),
        Case(testDescription: "RST_STREAM of three bytes", frames: frame(3, stream: 1, [0, 0, 8]), code: 6),
        Case(testDescription: "SETTINGS on a stream", frames: frame(4, stream: 1), code: 1),
        Case(testDescription: "SETTINGS of five bytes", frames: frame(4, [0, 3, 0, 0, 0]), code: 6),
        Case(
            testDescription: "an acknowledgement of SETTINGS with bytes",
            frames: frame(4, flags: 1, [0, 3, 0, 0, 0, 1]), code: 6),
        Case(testDescription: "SETTINGS acknowledged twice", frames: frame(4, flags: 1) + frame(4, flags: 1), code: 1),
        Case(testDescription: "SETTINGS that enable push", frames: frame(4, [0, 2, 0, 0, 0, 1]), code: 1),
        Case(testDescription: "SETTINGS with a window of 2^31", frames: frame(4, [0, 4, 0x80, 0, 0, 0]), code: 3),
        Case(
            testDescription: "SETTINGS with frames of 16,383 bytes", frames: frame(4, [0, 5, 0, 0, 0x3f, 0xff]), code: 1
        ),
        Case(testDescription: "SETTINGS with frames of 2^24 bytes", frames: frame(4, [0, 5, 1, 0, 0, 0]), code: 1),
        Case(
            testDescription: "SETTINGS that extend a window too far",
            frames: frame(8, stream: 1, [0x7f, 0xff, 0, 0]) + frame(4, [0, 4, 0x7f, 0xff, 0xff, 0xff]), code: 3),
        Case(testDescription: "PUSH_PROMISE", frames: frame(5, flags: 4, stream: 1, [0, 0, 0, 2, 0x82]), code: 1),
        Case(testDescription: "PING on a stream", frames: frame(6, stream: 1, [0, 0, 0, 0, 0, 0, 0, 0]), code: 1),
        Case(testDescription: "PING of seven bytes", frames: frame(6, [0, 0, 0, 0, 0, 0, 0]), code: 6),
        Case(testDescription: "GOAWAY on a stream", frames: frame(7, stream: 1, [0, 0, 0, 1, 0, 0, 0, 0]), code: 1),
        Case(testDescription: "GOAWAY of seven bytes", frames: frame(7, [0, 0, 0, 1, 0, 0, 0]), code: 6),
        Case(
            testDescription: "GOAWAY with a higher stream",
            frames: frame(7, [0, 0, 0, 1, 0, 0, 0, 0]) + frame(7, [0, 0, 0, 3, 0, 0, 0, 0]), code: 1),
        Case(testDescription: "WINDOW_UPDATE by 0", frames: frame(8, [0, 0, 0, 0]), code: 1),
        Case(testDescription: "WINDOW_UPDATE of three bytes", frames: frame(8, [0, 0, 1]), code: 6),
        Case(
            testDescription: "WINDOW_UPDATE of a stream that is not open", frames: frame(8, stream: 7, [0, 0, 0, 1]),
            code: 1),
        Case(
            testDescription: "WINDOW_UPDATE that extends the window too far",
            frames: frame(8, [0x7f, 0xff, 0xff, 0xff]), code: 3),
        Case(testDescription: "CONTINUATION without HEADERS", frames: frame(9, flags: 4, stream: 1, [0x88]), code: 1),
        Case(
            testDescription: "CONTINUATION of another stream",
            frames: frame(1, flags: 1, stream: 1, [0x88]) + frame(9, flags: 4, stream: 3), code: 1),
        Case(
            testDescription: "DATA in a header block",
            frames: frame(1, flags: 0, stream: 1, [0x88]) + frame(0, stream: 1, [1]), code: 1),
        Case(
            testDescription: "an unknown frame in a header block",
            frames: frame(1, flags: 0, stream: 1, [0x88]) + frame(99), code: 1),
        Case(
            testDescription: "fields that cannot be decoded",
            frames: frame(1, flags: 5, stream: 1, [0xff, 0xff, 0xff]), code: 9),
        Case(testDescription: "half a field", frames: frame(1, flags: 5, stream: 1, [0x88, 0x40, 5]), code: 9),
        Case(testDescription: "a frame of 16,385 bytes", frames: [0, 0x40, 1, 0, 0, 0, 0, 0, 1], code: 6),
    ]

    private func begin() throws -> HTTP2Pair {
        let pair = HTTP2Pair()
        _ = try pair.pullClient()
        try pair.feedClient(Self.frame(4, [0, 3, 0, 0, 0, 100]))
        for number in [1, 3] { #expect(pair.submit(number: number)) }
        _ = try pair.pullClient()
        return pair
    }

    @Test("A violation ends the connection with GOAWAY", arguments: violations, [1, .max])
    func aViolationEndsTheConnection(_ violation: Case, pieceSize: Int) throws {
        let pair = try begin()
        pair.pieceSize = pieceSize
        try pair.feedClient(violation.frames)
        var last: [UInt8] = []
        let error = #expect(throws: HTTP2Error.self) {
            try pair.client.pull(upTo: .max) { last.append(contentsOf: $0) }
        }
        #expect(error?.code == .protocolViolation)
        // The type and the code of GOAWAY, whose other bytes are text.
        #expect(last.count > 17 && last[3] == 7 && Array(last[13..<17]) == [0, 0, 0, violation.code])
        #expect(!pair.submit(number: 5))
        try pair.feedClient(Self.frame(1, flags: 5, stream: 1, [0x88]))
        pair.client.connectionEnded()
        #expect(pair.clientLog.failures.count + pair.clientLog.answers.count == 2)
    }

    @Test("The first frame must be SETTINGS", arguments: [0, 1, 4, 6, 7] as [UInt8])
    func theFirstFrameMustBeSettings(type: UInt8) throws {
        let pair = HTTP2Pair()
        _ = try pair.pullClient()
        try pair.feedClient(Self.frame(type, flags: 1, [0, 0, 0, 0, 0, 0, 0, 0]))
        let error = #expect(throws: HTTP2Error.self) { try pair.pullClient() }
        #expect(error?.code == .protocolViolation)
    }

    /// A response on stream 1 that is malformed or breaks a limit. Its stream is reset, and the connection goes on.
    static let malformed = [
        Case(testDescription: "no status", frames: frame(1, flags: 5, stream: 1, [0x0f, 0x0d, 1, 0x30]), code: 1),
        Case(testDescription: "two of them", frames: frame(1, flags: 5, stream: 1, [0x88, 0x88]), code: 1),
        Case(
            testDescription: "a status of two digits", frames: frame(1, flags: 5, stream: 1, [0x08, 2, 0x32, 0x30]),
            code: 1),
        Case(
            testDescription: "a status of letters",
            frames: frame(1, flags: 5, stream: 1, [0x08, 3] + Array("2x0".utf8)), code: 1),
        Case(
            testDescription: "status 099", frames: frame(1, flags: 5, stream: 1, [0x08, 3] + Array("099".utf8)), code: 1
        ),
        Case(
            testDescription: "status 101", frames: frame(1, flags: 4, stream: 1, [0x08, 3] + Array("101".utf8)), code: 1
        ),
        Case(
            testDescription: "an interim answer at the end",
            frames: frame(1, flags: 5, stream: 1, [0x08, 3] + Array("100".utf8)), code: 1),
        Case(
            testDescription: "a status after other fields",
            frames: frame(1, flags: 5, stream: 1, [0x0f, 0x03, 1, 0x30, 0x88]), code: 1),
        Case(testDescription: "a field of requests", frames: frame(1, flags: 5, stream: 1, [0x88, 0x82]), code: 1),
        Case(
            testDescription: "an uppercase name", frames: frame(1, flags: 5, stream: 1, [0x88, 0, 1, 0x41, 0]), code: 1),
        Case(
            testDescription: "connection",
            frames: frame(1, flags: 5, stream: 1, [0x88, 0, 10] + Array("connection".utf8) + [0]), code: 1),
        Case(
            testDescription: "transfer-encoding", frames: frame(1, flags: 5, stream: 1, [0x88, 0x0f, 0x2a, 0]), code: 1),
        Case(testDescription: "te", frames: frame(1, flags: 5, stream: 1, [0x88, 0, 2, 0x74, 0x65, 1, 0x78]), code: 1),
        Case(
            testDescription: "a length without a body",
            frames: frame(1, flags: 5, stream: 1, [0x88, 0x0f, 0x0d, 1, 0x31]), code: 1),
        Case(
            testDescription: "two lengths",
            frames: frame(1, flags: 5, stream: 1, [0x88, 0x0f, 0x0d, 1, 0x30, 0x0f, 0x0d, 1, 0x30]), code: 1),
        Case(
            testDescription: "a length of 30 digits",
            frames: frame(1, flags: 4, stream: 1, [0x88, 0x0f, 0x0d, 30] + [UInt8](repeating: 0x39, count: 30)), code: 1
        ),
        Case(
            testDescription: "a longer body",
            frames: frame(1, flags: 4, stream: 1, [0x88, 0x0f, 0x0d, 1, 0x31]) + frame(0, stream: 1, [1, 2]), code: 1),
        Case(
            testDescription: "a shorter body",
            frames: frame(1, flags: 4, stream: 1, [0x88, 0x0f, 0x0d, 1, 0x33]) + frame(0, flags: 1, stream: 1, [1, 2]),
            code: 1),
        Case(
            testDescription: "a body of status 204",
            frames: frame(1, flags: 4, stream: 1, [0x89]) + frame(0, flags: 1, stream: 1, [1]), code: 1),
        Case(testDescription: "a body before the head", frames: frame(0, stream: 1, [1]), code: 1),
        Case(
            testDescription: "trailers that are not the end",
            frames: frame(1, flags: 4, stream: 1, [0x88]) + frame(1, flags: 4, stream: 1, [0x0f, 0x03, 1, 0x30]),
            code: 1),
        Case(
            testDescription: "trailers with a status",
            frames: frame(1, flags: 4, stream: 1, [0x88]) + frame(1, flags: 5, stream: 1, [0x88]), code: 1),
        Case(testDescription: "WINDOW_UPDATE by 0", frames: frame(8, stream: 1, [0, 0, 0, 0]), code: 1),
        Case(testDescription: "WINDOW_UPDATE too far", frames: frame(8, stream: 1, [0x7f, 0xff, 0xff, 0xff]), code: 3),
    ]

    @Test("A malformed answer resets its stream, and no other", arguments: malformed, [1, .max])
    func aMalformedAnswerResetsItsStream(_ answer: Case, pieceSize: Int) throws {
        let pair = try begin()
        pair.pieceSize = pieceSize
        try pair.feedClient(answer.frames)
        #expect(pair.clientLog.failures == [1: .reset(HTTP2ErrorCode(rawValue: UInt32(answer.code)))])
        let sent = try pair.pullClient()
        let reset = Self.frame(3, stream: 1, [0, 0, 0, answer.code])
        #expect(sent == reset)
        try pair.feedClient(Self.frame(0, stream: 1, [1]) + Self.frame(1, flags: 5, stream: 3, [0x88]))
        #expect(pair.clientLog.answers == [.init(tag: 3, status: 200, id: nil, body: "")])
        #expect(try pair.pullClient().isEmpty)
    }

    @Test("Unusual but valid answers are answers", arguments: [1, 3, .max])
    func unusualAnswersAreAnswers(pieceSize: Int) throws {
        let pair = try begin()
        pair.pieceSize = pieceSize
        // Padding, a priority, unknown frames and flags, an empty piece of the head, and trailers.
        try pair.feedClient(
            Self.frame(1, flags: 0x28, stream: 1, [3, 0, 0, 0, 0, 0, 0x88, 0, 0, 0])
                + Self.frame(9, stream: 1) + Self.frame(9, flags: 4, stream: 1, [0x0f, 0x0d, 1, 0x32])
                + Self.frame(99, flags: 0xff, stream: 7, [1, 2, 3]) + Self.frame(2, stream: 9, [0, 0, 0, 0, 0])
                + Self.frame(0, flags: 8, stream: 1, [2, 0x61, 0, 0])
                + Self.frame(0, flags: 8, stream: 1, [1, 0x62, 0])
                + Self.frame(1, flags: 5, stream: 1, [0, 1, 0x78, 1, 0x79]))
        #expect(pair.clientLog.answers == [.init(tag: 1, status: 200, id: nil, body: "ab")])
        // Frames of a stream that has ended are ignored, but its fields still fill the table of the connection.
        try pair.feedClient(
            Self.frame(1, flags: 4, stream: 1, [0x40, 7] + Array("apns-id".utf8) + [1, 0x37])
                + Self.frame(0, stream: 1, [0x63]) + Self.frame(3, stream: 1, [0, 0, 0, 0])
                + Self.frame(8, stream: 1, [0, 0, 0, 0]) + Self.frame(1, flags: 5, stream: 3, [0x88, 0xbe]))
        #expect(pair.clientLog.answers.last == .init(tag: 3, status: 200, id: "7", body: ""))
        #expect(pair.clientLog.failures.isEmpty)
    }

    @Test(
        "Frames after the end of an answer whose request is not sent yet end the connection",
        arguments: [0, 1] as [UInt8])
    func framesAfterTheEndOfAnAnswer(type: UInt8) throws {
        let pair = HTTP2Pair()
        _ = try pair.pullClient()
        try pair.feedClient(Self.frame(4, [0, 4, 0, 0, 0, 3]))
        #expect(pair.submit(number: 1))
        _ = try pair.pullClient()
        try pair.feedClient(Self.frame(1, flags: 5, stream: 1, [0x88]) + Self.frame(type, flags: 4, stream: 1))
        var last: [UInt8] = []
        #expect(throws: HTTP2Error.self) { try pair.client.pull(upTo: .max) { last.append(contentsOf: $0) } }
        #expect(Array(last[13..<17]) == [0, 0, 0, 5])
        pair.client.connectionEnded()
        #expect(pair.clientLog.answers.map(\.tag) == [1] && pair.clientLog.failures.isEmpty)
    }

    @Test("A frame on a stream that was not sent ends the connection", arguments: [1, 3, 8] as [UInt8])
    func framesOnUnsentStreams(type: UInt8) throws {
        let pair = try begin()
        #expect(pair.submit(number: 5))
        let id = pair.client.nextStream - 2
        try pair.feedClient(Self.frame(type, flags: 5, stream: UInt32(id), type == 1 ? [0x88] : [0, 0, 0, 0]))
        var last: [UInt8] = []
        #expect(throws: HTTP2Error.self) { try pair.client.pull(upTo: .max) { last.append(contentsOf: $0) } }
        #expect(last.count > 17 && last[3] == 7)
        pair.client.connectionEnded()
        #expect(pair.clientLog.failures == [1: .connectionLost, 3: .connectionLost, 5: .notProcessed])
        #expect(pair.clientLog.answers.isEmpty)
    }

    @Test("After a GOAWAY, requests that it excludes and that were not sent do not go out")
    func unsentRequestsAfterGoAway() throws {
        let pair = try begin()
        #expect(pair.submit(number: 5))
        let last = UInt32(pair.client.nextStream) - 2
        _ = try pair.pullClient()
        #expect(pair.submit(number: 6))
        pair.client.abandon(tag: 6)
        #expect(pair.submit(number: 7))
        try pair.feedClient(Self.frame(7, [UInt8](repeating: 0, count: 3) + [UInt8(last), 0, 0, 0, 0]))
        #expect(pair.clientLog.failures == [7: .notProcessed])
        #expect(try pair.pullClient().isEmpty)
        try pair.feedClient(Self.frame(1, flags: 5, stream: last, [0x88]))
        #expect(pair.clientLog.answers.map(\.tag) == [5])
    }

    @Test("A request that is refused before it is whole does not go on") func anEarlyRefusal() throws {
        let pair = HTTP2Pair()
        _ = try pair.pullClient()
        try pair.feedClient(Self.frame(4, [0, 4, 0, 0, 0, 3]))
        #expect(pair.submit(number: 1))
        _ = try pair.pullClient()
        try pair.feedClient(Self.frame(1, flags: 5, stream: 1, [0x8d]))
        #expect(pair.clientLog.answers.map(\.tag) == [1])
        #expect(try pair.pullClient().suffix(13) == Self.frame(3, stream: 1, [0, 0, 0, 8]))
        #expect(pair.client.inFlight == 0)
    }

    @Test("A request that is answered in part is not sent again") func aPartOfAnAnswer() throws {
        let pair = HTTP2Pair()
        _ = try pair.pullClient()
        try pair.feedClient(Self.frame(4, [0, 4, 0, 0, 0, 3]))
        for number in 1...2 { #expect(pair.submit(number: number)) }
        _ = try pair.pullClient()
        try pair.feedClient(Self.frame(1, flags: 4, stream: 1, [0x88]))
        pair.client.connectionEnded()
        #expect(pair.clientLog.failures == [1: .connectionLost, 2: .notProcessed])
    }

    @Test("An early answer counts when its request is sent") func anEarlyAnswerWaitsForItsRequest() throws {
        let pair = HTTP2Pair()
        _ = try pair.pullClient()
        try pair.feedClient(Self.frame(4, [0, 4, 0, 0, 0, 3]))
        for number in 1...2 { #expect(pair.submit(number: number)) }
        _ = try pair.pullClient()
        try pair.feedClient(Self.frame(1, flags: 5, stream: 1, [0x88]) + Self.frame(1, flags: 5, stream: 3, [0x88]))
        #expect(pair.clientLog.answers.isEmpty)
        // The first request goes on; the server does not want the rest of the second one.
        try pair.feedClient(Self.frame(8, stream: 1, [0, 0, 0, 7]) + Self.frame(3, stream: 3, [0, 0, 0, 0]))
        #expect(pair.clientLog.answers.map(\.tag) == [2])
        #expect(try pair.pullClient().suffix(16) == Self.frame(0, flags: 1, stream: 1, Array("ps\":{}}".utf8)))
        #expect(pair.clientLog.answers.map(\.tag) == [2, 1])
        #expect(pair.client.inFlight == 0)
    }

    @Test("A peer that exceeds the windows of this side is reset or ended") func theWindowsOfThisSide() throws {
        let pair = try begin()
        try pair.feedClient(Self.frame(1, flags: 4, stream: 1, [0x88]))
        let piece = Self.frame(0, stream: 1, [UInt8](repeating: 0x61, count: 16_000))
        // Half of a window is given back, so that an answer may be of any size.
        var given = 0
        for _ in 0..<100 {
            try pair.feedClient(piece)
            given += try pair.pullClient().count / 26
        }
        #expect(given == 33)
        #expect(pair.clientLog.failures.isEmpty)
        // What was not given back because it was not taken out yet is not the peer's.
        for _ in 0..<5 {
            try pair.feedClient(Self.frame(0, flags: 8, stream: 1, [255] + [UInt8](repeating: 0, count: 255)))
        }
        try pair.feedClient(Self.frame(0, flags: 1, stream: 1))
        #expect(pair.clientLog.answers.first?.isTruncated == true)
    }

    @Test("A negative window waits, and other requests go on") func aNegativeWindowWaits() throws {
        let pair = HTTP2Pair()
        _ = try pair.pullClient()
        try pair.feedClient(Self.frame(4, [0, 4, 0, 0, 0, 100]))
        #expect(pair.submit(body: [UInt8](repeating: 1, count: 150), number: 1))
        #expect(try pair.pullClient().suffix(100) == [UInt8](repeating: 1, count: 100)[...])
        // The window of the stream is then -90.
        try pair.feedClient(Self.frame(4, [0, 4, 0, 0, 0, 10]))
        #expect(pair.submit(number: 2))
        #expect(try pair.pullClient().suffix(10) == HTTP2Pair.body[...])
        try pair.feedClient(Self.frame(8, stream: 1, [0, 0, 0, 90]))
        #expect(try pair.pullClient().isEmpty)
        try pair.feedClient(Self.frame(8, stream: 1, [0, 0, 0, 1]))
        #expect(try pair.pullClient() == Self.frame(0, stream: 1, [1]))
        try pair.feedClient(Self.frame(4, [0, 4, 0, 0, 1, 0]))
        #expect(
            try pair.pullClient().suffix(58)
                == Self.frame(0, flags: 1, stream: 1, [UInt8](repeating: 1, count: 49))[...])
    }

    @Test("Waiting bodies take turns") func waitingBodiesTakeTurns() throws {
        let pair = HTTP2Pair()
        _ = try pair.pullClient()
        try pair.feedClient(Self.frame(4, [0, 4, 0x7f, 0xff, 0xff, 0xff]))
        for number in 1...3 { #expect(pair.submit(body: [UInt8](repeating: 1, count: 40_000), number: number)) }
        try pair.feedClient(Self.frame(8, [0, 0x10, 0, 0]))
        var streams: [UInt8] = []
        var bytes = try pair.pullClient()[...]
        while bytes.count >= 9 {
            let head = Array(bytes.prefix(9))
            if head[3] == 0 { streams.append(head[8]) }
            bytes = bytes.dropFirst(9 + Int(head[0]) << 16 + Int(head[1]) << 8 + Int(head[2]))
        }
        #expect(streams == [1, 3, 5, 1, 3, 5, 1, 3, 5])
    }

    @Test("Fields that exceed a frame are sent in several") func longFieldsAreSentInPieces() throws {
        let pair = HTTP2Pair()
        pair.serverLog.answersWith = HTTP2ServerLog.accept
        try pair.settle()
        let long = String(repeating: "x", count: 30_000)
        let request = HTTP2PreparedRequest(
            [
                .init(":method", value: .fixed("POST")), .init(":scheme", value: .fixed("https")),
                .init(":authority", value: .fixed("a")), .init(":path", value: .perRequest, indexed: .once),
                .init("apns-id", value: .perRequest, indexed: .once), .init("long", value: .fixed(long)),
            ])
        for number in 1...3 { #expect(pair.submit(request, number: number)) }
        try pair.settle()
        #expect(pair.clientLog.answers.map(\.id) == ["id-1", "id-2", "id-3"])
    }

    @Test("A flood of pings or settings ends the client", arguments: [6, 4] as [UInt8])
    func aFloodOfAcknowledgementsIsAnEnd(type: UInt8) throws {
        let pair = try begin()
        let one = Self.frame(type, type == 6 ? [0, 0, 0, 0, 0, 0, 0, 0] : [])
        // As long as the peer takes the acknowledgements, there may be any number.
        for _ in 0..<30 {
            try pair.feedClient([UInt8](repeatElement(one, count: 900).joined()))
            _ = try pair.pullClient()
        }
        let error = #expect(throws: HTTP2Error.self) {
            try pair.feedClient([UInt8](repeatElement(one, count: 1001).joined()))
        }
        #expect(error?.code == .flooded)
        var last: [UInt8] = []
        try? pair.client.pull(upTo: .max) { last.append(contentsOf: $0) }
        #expect(last[3] == 7 && Array(last[13..<17]) == [0, 0, 0, 11])
    }

    @Test("A header block of many frames ends the connection") func aBlockOfManyFramesIsAnEnd() throws {
        let pair = try begin()
        try pair.feedClient(Self.frame(1, stream: 1, [0x88]))
        let error = #expect(throws: HTTP2Error.self) {
            for _ in 0..<9 { try pair.feedClient(Self.frame(9, stream: 1)) }
        }
        #expect(error?.code == .flooded)
    }

    @Test("A request that was not sent before a violation is not processed") func whatWasNotSentIsNotProcessed() throws
    {
        let pair = try begin()
        #expect(pair.submit(number: 5))
        try pair.feedClient(Self.frame(0))
        _ = try? pair.pullClient()
        pair.client.connectionEnded()
        #expect(pair.clientLog.failures == [1: .connectionLost, 3: .connectionLost, 5: .notProcessed])
    }

    @Test("After the last stream id, no request is accepted") func theStreamIdsAreUsedUp() throws {
        let pair = try begin()
        pair.client.nextStream = 0x7fff_ffff
        #expect(pair.submit(number: 5))
        let request = HTTP2Pair.request()
        let values = [Array("/".utf8), Array("6".utf8)]
        #expect(pair.client.submit(request, values: values, body: HTTP2Pair.body, tag: 6) == .over)
        #expect(pair.client.available == 0)
        _ = try pair.pullClient()
        try pair.feedClient(Self.frame(1, flags: 5, stream: 0x7fff_ffff, [0x88]))
        _ = try pair.pullClient()
        #expect(pair.clientLog.answers.map(\.tag) == [5])
    }

    /// Opens and ends requests in a random order, of which some stay open for long.
    @Test("Streams are found by id", arguments: 1...4 as ClosedRange<UInt64>) func streamsAreFoundByID(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var streams = HTTP2ClientStreams()
        var open: [Int32] = []
        var next: Int32 = 1
        for _ in 0..<20_000 {
            if open.count < 900, Int.random(in: 0..<100, using: &random) < 52 {
                #expect(streams.open(next).pointee.id == next)
                open.append(next)
                next += 2
            } else if let index = open.indices.randomElement(using: &random) {
                // Mostly the newest ones end, so that a few are very old.
                let id = open.remove(at: max(index, open.count - 100))
                let stream = streams.find(id)!
                streams.close(stream)
                streams.recycle(stream)
                #expect(streams.find(id) == nil)
            }
            if let id = open.randomElement(using: &random) { #expect(streams.find(id)?.pointee.id == id) }
            #expect(streams.find(next) == nil)
            #expect(streams.count == open.count)
        }
        for id in open { #expect(streams.find(id)?.pointee.id == id) }
        #expect(streams.first?.pointee.id == open.min() && streams.last?.pointee.id == open.max())
    }
}
