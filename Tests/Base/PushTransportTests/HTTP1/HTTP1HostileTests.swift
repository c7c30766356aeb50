import Glibc
import PushLoop
import PushTransport
import TestSupport
import TestTraits
import Testing

/// Attacks on a server that accepts every client.
@Suite(.waits) struct HTTP1HostileTests {
    /// Uses one server for all requests: each must leave it usable.
    @Test("Input that is not a valid request is refused") func refusesWhatIsNotARequest() async throws {
        try await withServer { server in
            for (text, status) in refusedRequests {
                let client = try server.client()
                client.sendUntilClosed(Array(text.utf8))
                let answer = try client.answer(toHead: text.hasPrefix("HEAD"))
                #expect(answer.status == status, "\(text.debugDescription): \(answer.text)")
                #expect(answer.header("Connection") == "close")
                #expect(try client.isAtEnd())
                client.close()
            }
            #expect(await server.counts.requests == 0)
            #expect(try server.answer(to: "GET / HTTP/1.1\r\nHost: x\r\n\r\n").status == 200)
        }
    }

    /// Input after a refused request is not parsed as another request.
    @Test("Input after a refusal is not parsed") func doesNotGoOnBehindARefusal() async throws {
        try await withServer { server in
            let client = try server.client()
            try client.send(
                "GET /1 HTTP/1.1\r\nHost: x\r\n\r\n"
                    + "POST /2 HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try client.answer().status == 200)
            #expect(try client.answer().status == 400)
            #expect(try client.isAtEnd())
            #expect(await server.counts.requests == 1)
        }
    }

    @Test("Truncated requests are dropped") func forgetsRequestsThatWereCutOff() async throws {
        let whole = "POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
        try await withServer { server in
            for length in 0..<whole.utf8.count {
                let client = try server.client()
                try client.send(Array(whole.utf8.prefix(length)))
                length % 2 == 0 ? client.close() : client.reset()
            }
            await server.until { $0.open == 0 && $0.accepted == whole.utf8.count }
            #expect(await server.counts.requests == 0)
        }
    }

    @Test("A client that is still sending receives the refusal")
    func tellsAClientThatIsStillSendingWhyItWasRefused() async throws {
        try await withServer { server in
            let client = try server.client()
            try client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n")
            try client.send([UInt8](repeating: 0x61, count: 4_000_000))
            #expect(try client.answer().status == 413)
            // The connection is closed, not reset: a reset may overtake the answer.
            #expect(try client.isAtEnd())
        }
    }

    @Test("Requests may arrive byte by byte") func takesRequestsByteByByte() async throws {
        try await withServer { server in
            let client = try server.client()
            let text = "POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"
            for byte in text.utf8 { try client.send([byte]) }
            #expect(try client.answer().text == #"POST /x ["x"] 2:hi"#)
        }
    }

    // MARK: Timeouts

    @Test("Header fields have a time limit") func doesNotWaitForEverForHeaderFields() async throws {
        try await withServer { server in
            let client = try server.client()
            // The time begins with the first byte, however long the connection was idle.
            await server.until { $0.accepted == 1 }
            await server.loop.advance(by: .seconds(30))
            let line = "GET / HTTP/1.1\r\n"
            try client.send(line)
            await server.receives(line.utf8.count)
            // Single bytes do not extend the time.
            for _ in 1...9 {
                await server.loop.advance(by: .seconds(1))
                try client.send("X: y\r\n")
            }
            #expect(await server.counts.open == 1)
            await server.loop.advance(by: .seconds(1))
            #expect(try client.answer().status == 408)
            client.close()
            await server.until { $0.open == 0 }
        }
    }

    @Test("A body has a time limit") func doesNotWaitForEverForABody() async throws {
        try await withServer { server in
            let client = try server.client()
            try client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n")
            #expect(try client.answer().status == 100)
            try client.send("12345")
            await server.loop.advance(by: .seconds(29))
            #expect(await server.counts.open == 1)
            await server.loop.advance(by: .seconds(1))
            #expect(try client.answer().status == 408)
            #expect(try client.isAtEnd())
        }
    }

    @Test("Unused connections are closed") func closesConnectionsThatAreNotUsed() async throws {
        try await withServer { server in
            let silent = try server.client()
            let idle = try server.client()
            try idle.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try idle.answer().status == 200)
            await server.until { $0.accepted == 2 }
            await server.loop.advance(by: .seconds(59))
            #expect(await server.counts.open == 2)
            // A request restarts the idle time.
            try idle.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try idle.answer().status == 200)
            await server.loop.advance(by: .seconds(1))
            #expect(try silent.isAtEnd())
            await server.loop.advance(by: .seconds(58))
            #expect(await server.counts.open == 1)
            await server.loop.advance(by: .seconds(1))
            #expect(try idle.isAtEnd())
            await server.until { $0.open == 0 }
        }
    }

    /// One test with the system clock, which shows that the loop's own timers work.
    @Test("Timeouts work with the system clock") func keepsTimeByTheMachinesClock() async throws {
        var limits = HTTP1Limits()
        limits.headerTime = .milliseconds(20)
        try await withServer(limits: limits, clock: .monotonic) { server in
            let client = try server.client()
            try client.send("GET / HT")
            // The connection may close without an answer if even that came too late.
            let text = String(decoding: try client.rest(), as: UTF8.self)
            #expect(text.isEmpty || text.hasPrefix("HTTP/1.1 408 "))
        }
    }

    // MARK: Connection limits

    @Test("A full server answers 503 and recovers") func saysThatItIsFullAndRecovers() async throws {
        var limits = HTTP1Limits()
        limits.connections = 3
        let held = Held<[HTTP1Responder]>([])
        let handler: TestHandler = { request, responder in
            if request.path == ["slow"] { held.value.append(responder) } else { echo(request, responder) }
        }
        try await withServer(limits: limits, handler: handler) { server in
            let get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
            let clients = try (1...3).map { _ in try server.client() }
            for client in clients { try client.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n") }
            await server.until { $0.requests == 3 }
            for _ in 1...5 {
                let answer = try server.answer(to: get)
                #expect(answer.status == 503)
                #expect(answer.header("Connection") == "close")
            }
            #expect(await server.counts.requests == 3)
            #expect(await server.counts.evicted == 0)
            try await server.loop.run { try held.value[0].respond(status: 200) }
            #expect(try clients[0].answer().status == 200)
            clients[1].close()
            clients[2].reset()
            await server.until { $0.open == 1 && $0.refusing == 0 }
            #expect(try server.answer(to: get).status == 200)
            await server.loop.run { held.value = [] }
        }
    }

    /// Many more clients than the limit send half a request or nothing. A client with a complete request is still
    /// answered.
    @Test("Incomplete requests do not lock out other clients") func halfRequestsKeepNobodyOut() async throws {
        var limits = HTTP1Limits()
        limits.connections = 8
        limits.refusedConnections = 4
        try await withServer(limits: limits) { server in
            var crowd: [RawClient] = []
            for number in 0..<40 {
                let client = try server.client()
                if !number.isMultiple(of: 3) { try client.send("GET /healthz HTTP/1.1\r\nHos") }
                crowd.append(client)
                let count = crowd.count
                await server.until { $0.accepted == count && $0.open <= 8 }
            }
            #expect(try server.answer(to: "GET / HTTP/1.1\r\nHost: x\r\n\r\n").status == 200)
            let counts = await server.counts
            #expect(counts.evicted > 0 && counts.open <= 8 && counts.refusing == 0)
            // The connections that waited longest were evicted.
            #expect(try crowd[0].isAtEnd())
        }
    }

    /// Errors of a listener reach its server. Here the socket no longer listens; in practice there are no descriptors
    /// left.
    @Test("The server survives failing accepts") func survivesAcceptsThatFail() async throws {
        try await withServer { server in
            let kept = try server.client()
            await server.until { $0.open == 1 }
            let listening = try #require(Self.descriptor(listeningOn: server.port))
            #expect(shutdown(listening, Int32(SHUT_RDWR)) == 0)
            await server.until { $0.failedAccepts > 0 }
            try kept.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try kept.answer().status == 200)
            // The server pauses for a moment and tries again.
            await server.loop.advance(by: .milliseconds(100))
            await server.until { $0.failedAccepts > 1 }
        }
    }

    private static func descriptor(listeningOn port: UInt16) -> Int32? {
        (0..<Int32(65_536)).first { descriptor in
            var (listens, size) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
            guard getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0, listens == 1 else {
                return false
            }
            var address = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let result = withUnsafeMutablePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
            }
            return result == 0 && address.sin_family == sa_family_t(AF_INET)
                && UInt16(bigEndian: address.sin_port) == port
        }
    }

    /// Connections above both limits wait in the system's queue and are served when there is room.
    @Test("Accepting pauses when refusing is not possible either")
    func stopsAcceptingWhenEvenRefusingIsTooMuch() async throws {
        var limits = HTTP1Limits()
        limits.connections = 2
        limits.refusedConnections = 0
        try await withServer(limits: limits) { server in
            let clients = try (1...6).map { _ in try server.client() }
            for client in clients { try client.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n") }
            for client in clients { #expect(try client.answer().status == 200) }
            #expect(await server.counts.requests == 6)
        }
    }

    @Test("Thousands of opened and dropped connections are counted")
    func countsThousandsOfConnectionsOpenedAndDropped() async throws {
        try await withServer { server in
            let get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
            for number in 0..<3000 {
                let client = try server.client()
                switch number % 4 {
                case 0: client.close()
                case 1: client.reset()
                case 2:
                    try client.send(get)
                    client.reset()
                default:
                    client.sendUntilClosed(Array("GET".utf8))
                    client.close()
                }
            }
            await server.until { $0.accepted == 3000 && $0.open == 0 && $0.refusing == 0 }
            #expect(try server.answer(to: get).status == 200)
        }
    }

    @Test("The server survives random input") func survivesNoise() async throws {
        var random = SeededRandom(seed: 2026)
        try await withServer { server in
            for _ in 0..<300 {
                let client = try server.client()
                let (text, _) = refusedRequests.randomElement(using: &random)!
                var bytes = Array(text.utf8.prefix(2000))
                for _ in 0..<Int.random(in: 0...20, using: &random) {
                    bytes.insert(.random(in: 0...255, using: &random), at: .random(in: 0...bytes.count, using: &random))
                }
                client.sendUntilClosed(bytes)
                client.close()
            }
            await server.until { $0.open == 0 && $0.accepted == 300 }
            #expect(try server.answer(to: "GET / HTTP/1.1\r\nHost: x\r\n\r\n").status == 200)
        }
    }
}

private func post(_ headers: String, body: String = "") -> String {
    "POST / HTTP/1.1\r\nHost: x\r\n\(headers)\r\n\r\n\(body)"
}

private func get(_ target: String) -> String {
    "GET \(target) HTTP/1.1\r\nHost: x\r\n\r\n"
}

/// The requests with the status of their refusal. The tests of the machine use them as well.
let refusedRequests: [(text: String, status: Int)] = [
    // Another protocol or version.
    ("\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}", 400), ("SSH-2.0-OpenSSH_9.2\r\n\r\n", 400), ("{}\r\n\r\n", 400),
    ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505), ("GET / HTTP/1.2\r\nHost: x\r\n\r\n", 505),
    ("GET / HTTP/1.1x\r\nHost: x\r\n\r\n", 400), ("GET / http/1.1\r\nHost: x\r\n\r\n", 400),
    ("GET /\r\n\r\n", 400), ("GET  / HTTP/1.1\r\nHost: x\r\n\r\n", 400), ("GET / x HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    (" GET / HTTP/1.1\r\nHost: x\r\n\r\n", 400), ("\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("G@T / HTTP/1.1\r\nHost: x\r\n\r\n", 400), ("get / HTTP/1.1\r\nHost: x\r\n\r\n", 501),
    ("BREW /pot HTTP/1.1\r\nHost: x\r\n\r\n", 501), ("CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n", 405),
    // Line ends.
    ("GET / HTTP/1.1\nHost: x\n\n", 400), ("GET / HTTP/1.1\r\nHost: x\n\r\n", 400),
    ("GET / HTTP/1.1\rHost: x\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: x\r\nA: b\rc\r\n\r\n", 400),
    // Targets.
    (get("http://x/"), 400), (get("//../x"), 400), (get("*"), 400), (get("x"), 400), (get("/a#b"), 400),
    (get("/../etc/passwd"), 400), (get("/a/../../b"), 400), (get("/a/%2e%2e/b"), 400), (get("/%2E./x"), 400),
    (get("/."), 400), (get("/a/..%2f..%2fb"), 400), (get("/a%5c..%5cb"), 400), (get("/a/.."), 400),
    (get("/%"), 400), (get("/%1"), 400), (get("/%zz"), 400), (get("/%00"), 400), (get("/a%0d%0ab"), 400),
    (get("/a%C2%9Bb"), 400),
    (get("/%ff"), 400), (get("/%c0%ae%c0%ae/"), 400), (get("/?a=%"), 400), (get("/?a=%zz"), 400),
    (get("/?%ff=1"), 400), (get("/?a=%00"), 400), (get("/\u{e9}"), 400), (get("/\u{7f}"), 400),
    (get("/" + String(repeating: "a", count: 20_000)), 414),
    // Header fields.
    ("GET / HTTP/1.1\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: x/y\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", 400),
    (post("No colon"), 400), (post(": no name"), 400), (post("Space : x"), 400), (post("A: b\r\n folded"), 400),
    (post("A: b\r\n\tfolded"), 400), (post("A: b\u{0}c"), 400), (post("A\u{0}: b"), 400), (post("A: \u{1b}[2J"), 400),
    (post("A: " + String(repeating: "a", count: 20_000)), 431),
    (post((1...101).map { "A\($0): b" }.joined(separator: "\r\n")), 431),
    (post((1...5000).map { "A\($0): b" }.joined(separator: "\r\n")), 431),
    // Lengths.
    (post("Content-Length: -1"), 400), (post("Content-Length: +1"), 400), (post("Content-Length: 1e3"), 400),
    (post("Content-Length: 0x10"), 400), (post("Content-Length: "), 400), (post("Content-Length: 1 2"), 400),
    (post("Content-Length: 5, 5"), 400), (post("Content-Length: 5\r\nContent-Length: 5"), 400),
    (post("Content-Length: 5\r\ncontent-length: 6"), 400), (post("Content-Length: 1048577"), 413),
    (post("Content-Length: 9223372036854775808"), 413), (post("Content-Length: 99999999999999999999999"), 413),
    ("TRACE / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na", 400),
    ("HEAD / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400),
    // Transfer codings.
    (post("Content-Length: 5\r\nTransfer-Encoding: chunked", body: "0\r\n\r\n"), 400),
    (post("Transfer-Encoding: chunked\r\nContent-Length: 5", body: "0\r\n\r\n"), 400),
    (post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"), 400),
    (post("Transfer-Encoding: gzip, chunked"), 501), (post("Transfer-Encoding: xchunked"), 501),
    (post("Transfer-Encoding: chunked, identity"), 501), (post("Transfer-Encoding: \u{b}chunked"), 400),
    (post("Transfer-Encoding : chunked"), 400),
    ("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    (post("Transfer-Encoding: chunked", body: "-1\r\n"), 400), (post("Transfer-Encoding: chunked", body: "x\r\n"), 400),
    (post("Transfer-Encoding: chunked", body: "\r\n"), 400), (post("Transfer-Encoding: chunked", body: "0x5\r\n"), 400),
    (post("Transfer-Encoding: chunked", body: "5 5\r\n"), 400), (post("Transfer-Encoding: chunked", body: "5\n"), 400),
    (post("Transfer-Encoding: chunked", body: "2\r\nabc\r\n0\r\n\r\n"), 400),
    (post("Transfer-Encoding: chunked", body: "2\r\nab0\r\n\r\n"), 400),
    (post("Transfer-Encoding: chunked", body: "2;" + String(repeating: "a", count: 300)), 400),
    (post("Transfer-Encoding: chunked", body: "2;a\u{0}\r\n"), 400),
    (post("Transfer-Encoding: chunked", body: "100001\r\n"), 413),
    (post("Transfer-Encoding: chunked", body: "ffffffffffffffffffff\r\n"), 413),
    (post("Transfer-Encoding: chunked", body: "8000000000000000\r\n"), 413),
    (post("Transfer-Encoding: chunked", body: "0\r\nno colon\r\n\r\n"), 400),
    (post("Transfer-Encoding: chunked", body: "0\r\nA: " + String(repeating: "a", count: 20_000)), 400),
    (post("Transfer-Encoding: chunked", body: "0\r\n" + String(repeating: "A: b\r\n", count: 5000)), 431),
    // Expectations.
    (post("Expect: 200-ok\r\nContent-Length: 1"), 417),
]
