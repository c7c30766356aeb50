import Testing

@testable import PushTransport

/// Heads of answers that are the same bytes, one after the other.
@Suite struct HTTP2RepeatedHeadTests {
    private typealias Frames = HTTP2ClientProtocolTests

    /// A client with five requests on the streams 1 to 9.
    private func begin(pieceSize: Int = .max) throws -> HTTP2Pair {
        let pair = HTTP2Pair()
        _ = try pair.pullClient()
        try pair.feedClient(Frames.frame(4, [0, 3, 0, 0, 0, 100]))
        for number in [1, 3, 5, 7, 9] { #expect(pair.submit(number: number)) }
        _ = try pair.pullClient()
        pair.pieceSize = pieceSize
        return pair
    }

    /// The field `apns-id` with a value, which the head adds to the table at 62.
    private func adding(_ value: UInt8) -> [UInt8] { [0x40, 7] + Array("apns-id".utf8) + [1, value] }

    private func ids(_ pair: HTTP2Pair) -> [String?] { pair.clientLog.answers.map(\.id) }

    @Test("The same bytes stand for other fields after a change of the tables", arguments: [1, 7, .max])
    func theTablesChange(pieceSize: Int) throws {
        let pair = try begin(pieceSize: pieceSize)
        try pair.feedClient(Frames.frame(1, flags: 5, stream: 1, [0x88] + adding(0x31)))
        try pair.feedClient(Frames.frame(1, flags: 5, stream: 3, [0x88, 0xbe]))
        try pair.feedClient(Frames.frame(1, flags: 5, stream: 5, [0x88, 0xbe]))
        // The trailers of an answer change the tables, too, and so do fields of a stream that has ended.
        try pair.feedClient(
            Frames.frame(1, flags: 4, stream: 7, [0x88, 0xbe]) + Frames.frame(1, flags: 5, stream: 7, adding(0x32)))
        try pair.feedClient(Frames.frame(1, flags: 4, stream: 9, [0x88, 0xbe]))
        try pair.feedClient(Frames.frame(0, flags: 1, stream: 9, [0x62]))
        #expect(ids(pair) == ["1", "1", "1", "1", "2"])
        #expect(pair.clientLog.answers.map(\.body) == ["", "", "", "", "b"])
        for number in [11, 13] { #expect(pair.submit(number: number)) }
        _ = try pair.pullClient()
        try pair.feedClient(Frames.frame(1, flags: 4, stream: 1, adding(0x33)))
        try pair.feedClient(Frames.frame(1, flags: 5, stream: 11, [0x88, 0xbe]))
        // A block in pieces, which has the bytes of the last one in its first piece.
        try pair.feedClient(
            Frames.frame(1, flags: 1, stream: 13, [0x88, 0xbe]) + Frames.frame(9, flags: 4, stream: 13, [0xbf]))
        #expect(ids(pair).suffix(2) == ["3", "3"] && pair.clientLog.failures.isEmpty)
    }

    @Test("An interim head is no part of the answer, and the head of the next one is complete")
    func anInterimHead() throws {
        let pair = try begin()
        try pair.feedClient(Frames.frame(1, flags: 5, stream: 1, [0x88] + adding(0x31)))
        // 103, which is added to the table as well: then it is at 62, and the id at 63.
        let early = Frames.frame(1, flags: 4, stream: 3, [0x48, 3] + Array("103".utf8))
        try pair.feedClient(early + Frames.frame(1, flags: 5, stream: 3, [0x88, 0xbf]))
        for stream in [5, 7] as [UInt32] {
            try pair.feedClient(
                Frames.frame(1, flags: 4, stream: stream, [0xbe]) + Frames.frame(1, flags: 4, stream: stream, [0xbe])
                    + Frames.frame(1, flags: 5, stream: stream, [0x88, 0xbf]))
        }
        #expect(ids(pair) == ["1", "1", "1", "1"] && pair.clientLog.answers.allSatisfy { $0.status == 200 })
    }

    @Test("A repeated head above the limit is marked each time")
    func whatIsTruncatedIsTruncatedAgain() throws {
        var limits = HTTP2ClientEngine.Limits()
        limits.maxFieldBytes = 40  // two fields of 16 bytes
        let pair = HTTP2Pair(limits: limits)
        _ = try pair.pullClient()
        try pair.feedClient(Frames.frame(4, [0, 3, 0, 0, 0, 100]))
        for number in [1, 3, 5] { #expect(pair.submit(number: number)) }
        _ = try pair.pullClient()
        try pair.feedClient(Frames.frame(1, flags: 5, stream: 1, [0x88] + adding(0x31)))
        for stream in [3, 5] as [UInt32] {
            try pair.feedClient(Frames.frame(1, flags: 5, stream: stream, [0x88, 0xbe, 0xbe, 0xbe]))
        }
        #expect(pair.clientLog.answers.map(\.isTruncated) == [false, true, true])
    }

    @Test("A repeated head that is malformed, or does not agree with its body, resets its stream each time")
    func whatIsWrongIsWrongAgain() throws {
        let pair = try begin()
        for stream in [1, 3] as [UInt32] {
            try pair.feedClient(Frames.frame(1, flags: 5, stream: stream, [0x88, 0x88]))
        }
        #expect(pair.clientLog.failures == [1: .reset(.protocolError), 3: .reset(.protocolError)])
        // A length of 2, which is added to the table.
        let length =
            Frames.frame(1, flags: 4, stream: 5, [0x88, 0x5c, 1, 0x32]) + Frames.frame(0, flags: 1, stream: 5, [1, 2])
        try pair.feedClient(length)
        try pair.feedClient(
            Frames.frame(1, flags: 4, stream: 7, [0x88, 0xbe]) + Frames.frame(0, flags: 1, stream: 7, [1, 2]))
        try pair.feedClient(
            Frames.frame(1, flags: 4, stream: 9, [0x88, 0xbe]) + Frames.frame(0, flags: 1, stream: 9, [1]))
        #expect(pair.clientLog.answers.map(\.tag) == [5, 7])
        #expect(pair.clientLog.failures[9] == .reset(.protocolError))
    }
}
