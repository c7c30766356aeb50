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
