import PushTransport
import TestSupport
import Testing

/// Input of a hostile peer leads to a typed error or is ignored. It never causes a crash or unbounded memory.
@Suite struct HTTP2HostileTests {
    @Test("A server detects a client that does not speak HTTP/2")
    func aServerSaysThatAClientDoesNotSpeakHTTP2() throws {
        let pair = HTTP2Pair()
        let error = #expect(throws: HTTP2Error.self) {
            try pair.feedServer(Array("GET / HTTP/1.1\r\nHost: example\r\n\r\n".utf8))
        }
        #expect(error?.code == .notHTTP2)
    }

    @Test("A client detects a protocol violation of the server") func aClientSaysThatAServerBrokeTheProtocol() throws {
        let pair = HTTP2Pair()
        _ = try pair.pullClient()
        try pair.feedClient(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8))
        // The client sends a GOAWAY to the peer and then ends the connection.
        var last: [UInt8] = []
        let error = #expect(throws: HTTP2Error.self) {
            try pair.client.pull(upTo: .max) { last.append(contentsOf: $0) }
        }
        #expect(error?.code == .protocolViolation)
        #expect(last.count >= 17 && last[3] == 7)
    }

    @Test("A flood of PINGs ends the connection") func aFloodOfPingsIsAnEnd() throws {
        let pair = HTTP2Pair()
        try pair.settle()
        let ping: [UInt8] = [0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]
        let flood = [UInt8](repeatElement(ping, count: 20_000).joined())
        #expect(throws: HTTP2Error.self) { try pair.feedServer(flood) }
    }

    /// Returns a frame of the server.
    private func frame(_ type: UInt8, flags: UInt8 = 0, stream: UInt8 = 0, _ payload: [UInt8] = []) -> [UInt8] {
        [0, UInt8(payload.count >> 8), UInt8(payload.count & 255), type, flags, 0, 0, 0, stream] + payload
    }

    enum Idle: CaseIterable {
        case pingAnswers, windows, emptyData, interimAnswers
    }

    @Test("A flood of frames that answer nothing ends the connection", arguments: Idle.allCases)
    func aFloodOfIdleFramesIsAnEnd(_ kind: Idle) throws {
        let pair = HTTP2Pair()
        try pair.settle()
        pair.submit(number: 1)
        try pair.feedServer(pair.pullClient())
        let one: [UInt8] =
            switch kind {
            case .pingAnswers: frame(6, flags: 1, [0, 0, 0, 0, 0, 0, 0, 1])
            case .windows: frame(8, stream: 1, [0, 0, 0, 1])
            case .emptyData: frame(0, stream: 1)
            // An entry of the static table does not have the status 103, so that it is spelled out.
            case .interimAnswers: frame(1, flags: 4, stream: 1, [0x08, 3] + Array("103".utf8))
            }
        // Empty DATA frames may only come after a head.
        if kind == .emptyData { try pair.feedClient(frame(1, flags: 4, stream: 1, [0x88])) }
        let some = [UInt8](repeatElement(one, count: 1000).joined())
        for _ in 0..<10 { try pair.feedClient(some) }
        let error = #expect(throws: HTTP2Error.self) { for _ in 0..<20 { try pair.feedClient(some) } }
        #expect(error?.code == .flooded)
    }

    @Test("Answers give credit for as many frames as they need") func answersGiveCredit() throws {
        let pair = HTTP2Pair()
        pair.serverLog.answersWith = HTTP2ServerLog.accept
        try pair.settle()
        let windows = [UInt8](repeatElement(frame(8, [0, 0, 0, 1]), count: 50).joined())
        for number in 1...1000 {
            pair.submit(number: number)
            try pair.settle()
            try pair.feedClient(windows)
        }
        #expect(pair.clientLog.answers.count == 1000)
    }

    /// A field of the dynamic table costs one byte, and stands for four thousand.
    @Test("A bomb of header fields ends the connection") func aBombOfFieldsIsAnEnd() throws {
        let pair = HTTP2Pair()
        try pair.settle()
        pair.submit(number: 1)
        try pair.feedServer(pair.pullClient())
        let value = [UInt8](repeating: UInt8(ascii: "a"), count: 3000)
        // Status 200, and a field that is indexed from then on: its length of 3,000 is 127 and then 2,873.
        let first: [UInt8] = [0x88, 0x40, 1, UInt8(ascii: "x"), 0x7f, 0xb9, 0x16] + value
        let some = first + [UInt8](repeating: 0xbe, count: 3)
        try pair.feedClient(frame(1, flags: 4, stream: 1, some))
        #expect(pair.clientLog.failures.isEmpty)
        pair.submit(number: 2)
        try pair.feedServer(pair.pullClient())
        let bomb = [0x88] + [UInt8](repeating: 0xbe, count: 10_000)
        let error = #expect(throws: HTTP2Error.self) { try pair.feedClient(frame(1, flags: 4, stream: 3, bomb)) }
        #expect(error?.code == .flooded)
    }

    @Test("A flood of resets is bounded") func aFloodOfResetsIsBounded() throws {
        let pair = HTTP2Pair()
        try pair.settle()
        for number in 1...2_000 {
            guard pair.submit(number: number) else { break }
            pair.client.abandon(tag: UInt64(number))
            do {
                try pair.settle()
            } catch {
                return
            }
        }
        #expect(pair.server.unanswered == 0)
    }

    /// Feeds a real exchange to both sides, with bytes changed, dropped, doubled or swapped.
    @Test("Mutated bytes never cause a crash", arguments: 0..<8 as Range<UInt64>)
    func mutatedBytesNeverCrash(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        for _ in 0..<150 {
            let pair = HTTP2Pair()
            pair.serverLog.answersWith = HTTP2ServerLog.accept
            pair.pieceSize = [1, 3, 17, 64, .max].randomElement(using: &random)!
            do {
                try pair.feedServer(random.mutate(pair.pullClient(), chance: 0.1))
                try pair.feedClient(random.mutate(pair.pullServer(), chance: 0.1))
                for round in 1...4 {
                    for number in 0..<5 { pair.submit(number: round * 10 + number) }
                    try pair.feedServer(random.mutate(pair.pullClient(), chance: 0.5))
                    try pair.feedClient(random.mutate(pair.pullServer(), chance: 0.5))
                }
            } catch is HTTP2Error {
                // An error is the expected result.
            }
            pair.client.connectionEnded()
            pair.server.connectionEnded()
            let ended = pair.clientLog.answers.count + pair.clientLog.failures.count
            #expect(pair.client.inFlight == 0)
            #expect(Set(pair.clientLog.order.filter { $0 != "goaway" }).count == ended)
        }
    }
}
