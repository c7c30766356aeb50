import PushTransport
import Testing

@Suite struct HTTP2EngineTests {
    @Test("Nothing is submitted before the first SETTINGS") func nothingIsSubmittedBeforeTheFirstSettings() throws {
        let pair = HTTP2Pair()
        #expect(pair.client.available == 0)
        #expect(!pair.submit(number: 1))
        try pair.settle()
        #expect(pair.clientLog.limits == [100])
        #expect(pair.submit(number: 1))
    }

    @Test("Requests and answers survive any split", arguments: [1, 2, 7, 9, 64, .max])
    func requestsAndAnswersSurviveEverySplit(pieceSize: Int) throws {
        let pair = HTTP2Pair()
        pair.pieceSize = pieceSize
        pair.serverLog.answersWith = { engine, request in
            if request.path.hasSuffix("2") {
                engine.answer(
                    request.stream, status: HTTP2Status(410), fields: [("apns-id", request.id)],
                    body: Array("{\"reason\":\"Unregistered\"}".utf8))
            } else {
                HTTP2ServerLog.accept(engine, request)
            }
        }
        try pair.settle()
        for number in 1...3 { #expect(pair.submit(number: number)) }
        try pair.settle()
        #expect(pair.serverLog.requests.map(\.path) == ["/3/device/1", "/3/device/2", "/3/device/3"])
        #expect(pair.serverLog.requests.allSatisfy { $0.body == "{\"aps\":{}}" && $0.bodyCount == 10 })
        #expect(
            pair.serverLog.requests[0].fieldNames == [
                ":method", ":scheme", ":authority", ":path", "authorization", "apns-topic", "apns-id",
            ])
        #expect(
            pair.clientLog.answers.sorted { $0.tag < $1.tag } == [
                .init(tag: 1, status: 200, id: "id-1", body: ""),
                .init(tag: 2, status: 410, id: "id-2", body: "{\"reason\":\"Unregistered\"}"),
                .init(tag: 3, status: 200, id: "id-3", body: ""),
            ])
        #expect(pair.client.inFlight == 0)
        #expect(pair.server.unanswered == 0)
    }

    @Test("A delegate that ends the connection gets the other events, and each request ends once")
    func aDelegateMayEndTheConnection() throws {
        let pair = HTTP2Pair()
        try pair.settle()
        for number in 1...4 { #expect(pair.submit(number: number)) }
        try pair.feedServer(try pair.pullClient())
        for request in pair.serverLog.requests.prefix(3) { HTTP2ServerLog.accept(pair.server, request) }
        pair.clientLog.whenAnswered = { [unowned pair] in pair.client.connectionEnded() }
        try pair.feedClient(try pair.pullServer())
        #expect(pair.clientLog.answers.map(\.tag).sorted() == [1, 2, 3])
        #expect(pair.clientLog.failures == [4: .connectionLost])
        #expect(pair.client.inFlight == 0 && pair.client.available == 0)
    }

    @Test("The client follows changes of the stream limit") func theStreamLimitIsHonouredAsItMoves() throws {
        let pair = HTTP2Pair(server: HTTP2Settings(maxConcurrentStreams: 1))
        try pair.settle()
        #expect(pair.client.available == 1)
        #expect(pair.submit(number: 1))
        #expect(!pair.submit(number: 2))
        pair.server.update(HTTP2Settings(maxConcurrentStreams: 10))
        try pair.settle()
        #expect(pair.client.available == 9)
        for number in 2...10 { #expect(pair.submit(number: number)) }
        #expect(!pair.submit(number: 11))
        try pair.settle()
        #expect(pair.serverLog.requests.count == 10)
        // A limit below the number of requests in flight does not affect requests that were sent.
        pair.server.update(HTTP2Settings(maxConcurrentStreams: 1))
        try pair.settle()
        #expect(pair.client.available == 0)
        for request in pair.serverLog.requests.dropLast() { HTTP2ServerLog.accept(pair.server, request) }
        try pair.settle()
        #expect(pair.client.available == 0)
        HTTP2ServerLog.accept(pair.server, pair.serverLog.requests[9])
        try pair.settle()
        #expect(pair.client.available == 1)
        #expect(pair.clientLog.answers.count == 10)
        #expect(pair.clientLog.failures.isEmpty)
    }

    @Test("A full connection and an ended one give different results") func noRoomNowIsToldFromNeverAgain() throws {
        var limits = HTTP2ClientEngine.Limits()
        limits.maxStreams = 3
        // The peer allows more than this side does. The reported limit is the usable one.
        let pair = HTTP2Pair(server: HTTP2Settings(maxConcurrentStreams: 2000), limits: limits)
        let request = HTTP2Pair.request()
        func submit(_ number: Int) -> HTTP2Submission {
            let values = [Array("/\(number)".utf8), Array("\(number)".utf8)]
            return pair.client.submit(request, values: values, body: HTTP2Pair.body, tag: UInt64(number))
        }
        #expect(submit(0) == .full)
        try pair.settle()
        #expect(pair.clientLog.limits == [3])
        for number in 1...3 { #expect(submit(number) == .taken) }
        #expect(submit(4) == .full)
        try pair.settle()
        for request in pair.serverLog.requests { HTTP2ServerLog.accept(pair.server, request) }
        try pair.settle()
        #expect(submit(4) == .taken)
        pair.client.terminate()
        #expect(submit(5) == .over)
    }

    @Test("GOAWAY separates processed from unprocessed requests") func goAwayTellsProcessedFromNotProcessed() throws {
        let pair = HTTP2Pair()
        try pair.settle()
        for number in 1...3 { pair.submit(number: number) }
        try pair.settle()
        let second = pair.serverLog.requests[1]
        pair.server.goAway(
            lastStream: second.stream, code: .noError, debugData: Array("{\"reason\":\"Shutdown\"}".utf8))
        try pair.settle()
        #expect(pair.clientLog.failures == [3: .notProcessed])
        #expect(pair.clientLog.goAways.first?.lastStream == second.stream)
        #expect(pair.clientLog.goAways.first?.debugData == Array("{\"reason\":\"Shutdown\"}".utf8))
        #expect(pair.clientLog.order == ["goaway", "unanswered 3"])
        #expect(!pair.submit(number: 4))
        #expect(!pair.client.isDone)
        for request in pair.serverLog.requests.prefix(2) { HTTP2ServerLog.accept(pair.server, request) }
        try pair.settle()
        #expect(pair.clientLog.answers.map(\.tag) == [1, 2])
        #expect(pair.client.isDone)
        #expect(pair.serverLog.withdrawn.keys.sorted() == [pair.serverLog.requests[2].stream])
    }

    @Test("Requests that cross a GOAWAY are not processed") func requestsThatCrossAGoAwayAreNotProcessed() throws {
        let pair = HTTP2Pair()
        try pair.settle()
        pair.submit(number: 1)
        try pair.settle()
        pair.server.goAway(lastStream: pair.serverLog.requests[0].stream, code: .noError)
        let goAway = try pair.pullServer()
        pair.submit(number: 2)
        let late = try pair.pullClient()
        try pair.feedServer(late)
        try pair.feedClient(goAway)
        HTTP2ServerLog.accept(pair.server, pair.serverLog.requests[0])
        try pair.settle()
        #expect(pair.serverLog.requests.count == 1)
        #expect(pair.clientLog.failures == [2: .notProcessed])
        #expect(pair.clientLog.answers.map(\.tag) == [1])
    }

    @Test(
        "Resets keep their error code",
        arguments: [
            (HTTP2ErrorCode.refusedStream, HTTP2StreamFailure.notProcessed),
            (.cancel, .reset(.cancel)), (.internalError, .reset(.internalError)),
            (.enhanceYourCalm, .reset(.enhanceYourCalm)), (.noError, .reset(.noError)),
            (HTTP2ErrorCode(rawValue: 4711), .reset(HTTP2ErrorCode(rawValue: 4711))),
        ])
    func resetsKeepTheirCode(code: HTTP2ErrorCode, failure: HTTP2StreamFailure) throws {
        let pair = HTTP2Pair()
        try pair.settle()
        pair.submit(number: 1)
        try pair.settle()
        pair.server.reset(pair.serverLog.requests[0].stream, code: code)
        try pair.settle()
        #expect(pair.clientLog.failures == [1: failure])
        #expect(pair.client.inFlight == 0)
        #expect(pair.submit(number: 2))
    }

    @Test("The end of the connection separates sent from unsent requests")
    func theEndOfTheConnectionTellsSentFromUnsent() throws {
        let pair = HTTP2Pair(server: HTTP2Settings(maxConcurrentStreams: 100, initialWindowSize: 100))
        try pair.settle()
        pair.submit(number: 1)
        // The body exceeds the window, so its end was not sent, and the peer cannot have processed the request.
        pair.submit(body: [UInt8](repeating: 32, count: 200), number: 2)
        _ = try pair.pullClient()
        pair.submit(number: 3)
        pair.client.connectionEnded()
        #expect(pair.clientLog.failures == [1: .connectionLost, 2: .notProcessed, 3: .notProcessed])
        #expect(!pair.submit(number: 4))
        #expect(try pair.pullClient().isEmpty)
    }

    @Test("An interim answer is not reported as the answer") func anInterimAnswerIsNotTheAnswer() throws {
        let pair = HTTP2Pair()
        try pair.settle()
        pair.submit(number: 1)
        try pair.settle()
        // A 100 (Continue) response: HEADERS with END_HEADERS and the literal `:status: 100`.
        let interim: [UInt8] = [0, 0, 5, 1, 4, 0, 0, 0, 1, 0x08, 3, 0x31, 0x30, 0x30]
        try pair.feedClient(interim)
        #expect(pair.clientLog.answers.isEmpty)
        HTTP2ServerLog.accept(pair.server, pair.serverLog.requests[0])
        try pair.settle()
        #expect(pair.clientLog.answers == [.init(tag: 1, status: 200, id: "id-1", body: "")])
    }

    @Test("Large bodies pass the flow control windows") func largeBodiesPassTheWindows() throws {
        let pair = HTTP2Pair()
        pair.serverLog.answersWith = HTTP2ServerLog.accept
        try pair.settle()
        let body = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 % 251) }
        for number in 1...4 { pair.submit(body: body, number: number) }
        try pair.settle()
        #expect(pair.clientLog.answers.count == 4)
        // The body is kept up to its limit and counted to its end.
        #expect(pair.serverLog.requests.allSatisfy { $0.bodyCount == 300_000 && $0.body.utf8.count <= 200_000 })
    }

    @Test("A response above the limit is truncated and marked") func answersAboveTheLimitAreCutAndSaidSo() throws {
        var limits = HTTP2ClientEngine.Limits()
        limits.maxBodyBytes = 10
        let pair = HTTP2Pair(limits: limits)
        pair.serverLog.answersWith = { engine, request in
            engine.answer(request.stream, status: HTTP2Status(503), fields: [], body: Array("0123456789ABCDEF".utf8))
        }
        try pair.settle()
        pair.submit(number: 1)
        try pair.settle()
        #expect(pair.clientLog.answers == [.init(tag: 1, status: 503, id: nil, body: "0123456789", isTruncated: true)])
    }

    @Test("Fields above the limit are truncated and marked") func fieldsAboveTheLimitAreCutAndSaidSo() throws {
        var limits = HTTP2ServerEngine.Limits()
        limits.maxFieldBytes = 200
        let pair = HTTP2Pair(serverLimits: limits)
        try pair.settle()
        pair.submit(number: 1)
        try pair.settle()
        #expect(pair.serverLog.requests.first?.hasTruncatedFields == true)
        #expect(pair.serverLog.requests.first?.fieldNames.contains("authorization") == false)
    }

    @Test("An abandoned request is not reported") func anAbandonedRequestIsHeardOfNoMore() throws {
        let pair = HTTP2Pair()
        try pair.settle()
        pair.submit(number: 1)
        pair.submit(number: 2)
        try pair.settle()
        pair.client.abandon(tag: 1)
        try pair.settle()
        #expect(pair.clientLog.answers.isEmpty)
        #expect(pair.clientLog.failures.isEmpty)
        #expect(pair.client.inFlight == 1)
        #expect(pair.serverLog.withdrawn == [1: .cancel])
        #expect(pair.server.answer(1, status: HTTP2Status(200), fields: [], body: []) == false)
    }

    @Test("Values that do not repeat stay out of the header table")
    func valuesThatNeverRepeatStayOutOfTheTable() throws {
        let pair = HTTP2Pair()
        pair.serverLog.answersWith = HTTP2ServerLog.accept
        try pair.settle()
        let request = HTTP2Pair.request()
        var sizes: [Int] = []
        for number in 100...400 {
            let before = pair.clientBytes
            pair.submit(request, number: number)
            _ = try pair.pullClient()
            sizes.append(pair.clientBytes - before)
            pair.client.abandon(tag: UInt64(number))
            _ = try pair.pullClient()
        }
        // The first request fills the table. Each later request has the same size, apart from the encoding of its
        // digits.
        let later = sizes.dropFirst(2)
        #expect(later.max()! - later.min()! <= 4)
        #expect(sizes[0] > later.max()!)
    }

    @Test("A prepared request is not kept") func aPreparedRequestIsNotKept() throws {
        let pair = HTTP2Pair()
        pair.serverLog.answersWith = HTTP2ServerLog.accept
        try pair.settle()
        weak var sent: HTTP2PreparedRequest?
        do {
            let request = HTTP2PreparedRequest(
                [
                    .init(":method", value: .fixed("POST")), .init(":scheme", value: .fixed("https")),
                    .init(":authority", value: .fixed("a")), .init(":path", value: .perRequest, indexed: .once),
                    .init("apns-id", value: .perRequest, indexed: .once),
                ])
            sent = request
            for number in 1...10 { pair.submit(request, number: number) }
        }
        #expect(sent == nil)
        try pair.settle()
        #expect(pair.clientLog.answers.count == 10)
    }
}
