import PushLoop
import PushTransport
import TestSupport
import TestTraits
import Testing

@Suite(.waits) struct HTTP1ServerTests {
    @Test("Requests on one connection are answered in turn")
    func answersOneRequestAfterTheOtherOnOneConnection() async throws {
        try await withServer { server in
            let client = try server.client()
            for number in 1...3 {
                try client.send("GET /a/b?n=\(number) HTTP/1.1\r\nHost: x\r\n\r\n")
                let answer = try client.answer()
                #expect(answer.status == 200)
                #expect(answer.text == #"GET /a/b?n=\#(number) ["a", "b"] n=\#(number) 0:"#)
                #expect(answer.header("Connection") == nil)
                #expect(answer.header("Date") != nil)
            }
            let counts = await server.counts
            #expect(counts.accepted == 1)
            #expect(counts.requests == 3)
        }
    }

    @Test("Pipelined requests are answered in order") func answersPipelinedRequestsInOrder() async throws {
        try await withServer { server in
            let client = try server.client()
            var text = ""
            for number in 1...50 {
                text += "POST /\(number) HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
            }
            try client.send(text)
            for number in 1...50 {
                #expect(try client.answer().text == #"POST /\#(number) ["\#(number)"] 3:abc"#)
            }
        }
    }

    /// Requests that are pipelined after one with a late answer wait, within bounds, and are answered in turn.
    @Test("Requests pipelined after a late answer wait") func holdsBackWhatIsPipelinedBehindALateAnswer() async throws {
        let late = Held<[HTTP1Responder]>([])
        let arrivals = Tally()
        let handler: TestHandler = { request, responder in
            if request.path == ["late"] {
                late.value.append(responder)
                arrivals.add()
            } else {
                echo(request, responder)
            }
        }
        try await withServer(handler: handler) { server in
            let client = try server.client()
            let next =
                "POST /next HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n" + String(repeating: "b", count: 60000)
            try client.send("GET /late HTTP/1.1\r\nHost: x\r\n\r\n" + next)
            await arrivals.reaches(1)
            #expect(await server.counts.requests == 1)
            try await server.loop.run { try late.value.removeFirst().respond(status: 200, body: Array("late".utf8)) }
            #expect(try client.answer().text == "late")
            #expect(try client.answer().body.count > 60000)
        }
    }

    @Test(
        "The connection closes when the client asks",
        arguments: [
            ("Connection: close", "1.1"), ("Connection: keep-alive, Close", "1.1"), ("Connection: x", "1.0"),
            ("Connection: keep-alive", "1.0"),
        ])
    func closesWhenTheClientAsks(header: String, version: String) async throws {
        try await withServer { server in
            let client = try server.client()
            try client.send("GET / HTTP/\(version)\r\nHost: x\r\n\(header)\r\n\r\n")
            let answer = try client.answer()
            #expect(answer.status == 200)
            #expect(answer.head.hasPrefix("HTTP/\(version) 200 OK"))
            #expect(try client.isAtEnd())
        }
    }

    @Test("Every method is passed to the handler", arguments: HTTP1Method.allCases)
    func handsOnEveryMethod(method: HTTP1Method) async throws {
        try await withServer { server in
            let text = "\(method.rawValue) /x HTTP/1.1\r\nHost: x\r\n\r\n"
            let answer = try server.answer(to: text, toHead: method == .head)
            #expect(answer.status == 200)
            if method != .head {
                #expect(answer.text.hasPrefix(method.rawValue + " /x"))
            }
        }
    }

    @Test("A HEAD request gets the length but not the body")
    func answersHEADWithTheLengthButWithoutTheBody() async throws {
        try await withServer { server in
            let client = try server.client()
            try client.send("HEAD /x HTTP/1.1\r\nHost: x\r\n\r\nGET /y HTTP/1.1\r\nHost: x\r\n\r\n")
            let head = try client.answer(toHead: true)
            #expect(head.header("Content-Length") == "\(#"HEAD /x ["x"] 0:"#.utf8.count)")
            #expect(try client.answer().text == #"GET /y ["y"] 0:"#)
        }
    }

    @Test("A status without a body is answered without one")
    func answersWithoutABodyWhereTheStatusHasNone() async throws {
        try await withServer(handler: { _, responder in
            try? responder.respond(status: 204, body: Array("not to be sent".utf8))
        }) { server in
            let client = try server.client()
            try client.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            let answer = try client.answer()
            #expect(answer.status == 204)
            #expect(answer.header("Content-Length") == nil)
            #expect(try client.isAtEnd())
        }
    }

    @Test("A chunked body is read") func readsAChunkedBody() async throws {
        try await withServer { server in
            let answer = try server.answer(
                to: "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n"
                    + "5;name=value\r\nhello\r\n00006\r\n world\r\n0\r\nTrailer: dropped\r\n\r\n")
            #expect(answer.text == #"POST /c ["c"] 11:hello world"#)
        }
    }

    @Test("A client that waits for 100 Continue gets it") func asksForTheBodyOfAClientThatWaits() async throws {
        try await withServer { server in
            let client = try server.client()
            // Repeat it on a connection with a previous answer.
            for _ in 1...2 {
                try client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
                #expect(try client.answer().head == "HTTP/1.1 100 Continue\r\n")
                try client.send("body")
                #expect(try client.answer().text == "POST / [] 4:body")
            }
            // A body that has already arrived is not asked for.
            try client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\nbody")
            #expect(try client.answer().status == 200)
            #expect(await server.counts.requests == 3)
        }
    }

    @Test("A body that is too large is refused before it is sent")
    func refusesATooLargeBodyBeforeItIsSent() async throws {
        var limits = HTTP1Limits()
        limits.bodyBytes = 1000
        try await withServer(limits: limits) { server in
            let client = try server.client()
            try client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\nExpect: 100-continue\r\n\r\n")
            #expect(try client.answer().status == 413)
            #expect(try client.isAtEnd())
            #expect(await server.counts.requests == 0)
        }
    }

    @Test("The connection closes properly after its last allowed request")
    func closesInAnOrderlyWayAfterTheLastRequestAllowed() async throws {
        var limits = HTTP1Limits()
        limits.requestsPerConnection = 2
        try await withServer(limits: limits) { server in
            let client = try server.client()
            try client.send(String(repeating: "GET / HTTP/1.1\r\nHost: x\r\n\r\n", count: 3))
            #expect(try client.answer().header("Connection") == nil)
            #expect(try client.answer().header("Connection") == "close")
            #expect(try client.isAtEnd())
            #expect(await server.counts.requests == 2)
        }
    }

    @Test("The server listens on IPv6") func listensOnIPv6() async throws {
        try await withServer(handler: { request, responder in
            try? responder.respond(status: 200, body: Array("\(request.peer)".utf8))
        }) { server in
            let port = try await server.loop.run { () throws(HTTP1Error) in
                try server.server.wrapped.listen(host: "::1", port: 0)
            }
            let client = try RawClient(port6: port)
            try client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try client.answer().text.hasPrefix("[::1]:"))
            #expect(try server.answer(to: "GET / HTTP/1.1\r\nHost: x\r\n\r\n").text.hasPrefix("127.0.0.1:"))
        }
    }

    @Test("A failed listen reports the reason") func saysWhyItCannotListen() async throws {
        try await withServer { server in
            await #expect(throws: HTTP1Error.self) {
                try await server.loop.run { () throws(HTTP1Error) in
                    try server.server.wrapped.listen(host: "example.com", port: 0)
                }
            }
            do {
                _ = try await server.loop.run { () throws(HTTP1Error) in
                    try server.server.wrapped.listen(host: "127.0.0.1", port: server.port)
                }
                Issue.record("two sockets listen on one port")
            } catch let error as HTTP1Error {
                #expect(error.code == .inUse)
                #expect(error.description.contains("127.0.0.1:\(server.port)"))
            }
        }
    }
}
