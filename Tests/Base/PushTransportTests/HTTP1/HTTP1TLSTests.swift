import Foundation
import PushLoop
import PushTransport
import TestSupport
import TestTraits
import Testing

@Suite(.waits) struct HTTP1TLSTests {
    private static func context() throws -> TLSContext {
        try .server(TLSServerConfiguration(identity: TestCertificates.shared.serverIdentity, alpn: ["http/1.1"]))
    }

    /// Runs a test with the authority's certificate in a file, for curl.
    private func withTLSServer(
        limits: HTTP1Limits = HTTP1Limits(), handler: @escaping TestHandler = echo,
        _ body: (TestServer, _ root: String, _ authority: String) async throws -> Void
    ) async throws {
        try await withDirectory { directory in
            let authority = directory + "/ca.pem"
            try TestCertificates.shared.authority.certificatePEM.write(
                toFile: authority, atomically: true, encoding: .utf8)
            try await withServer(limits: limits, tls: Self.context(), handler: handler) { server in
                try await body(server, "https://localhost:\(server.port)", authority)
            }
        }
    }

    @Test("curl sends two requests over one connection") func answersCurlOnOneConnection() async throws {
        try await withTLSServer { server, root, authority in
            let text = try await curl(
                "--ipv4", "--cacert", authority, root + "/a?b=c", "-o", "-", root + "/d", "--data", "hello")
            #expect(text.contains(#"POST /a?b=c ["a"] b=c 5:hello"#))
            #expect(text.contains(#"POST /d ["d"] 5:hello"#))
            let counts = await server.counts
            #expect(counts.accepted == 1)
            #expect(counts.requests == 2)
        }
    }

    @Test("curl does not trust an unknown authority") func curlDoesNotTrustAnUnknownAuthority() async throws {
        try await withTLSServer { server, root, _ in
            await #expect(throws: RawClient.Failure.self) { _ = try await curl("--ipv4", root) }
            await server.until { $0.open == 0 && $0.accepted == 1 }
            #expect(await server.counts.requests == 0)
        }
    }

    /// Body sizes around those of records and buffers, in both directions.
    @Test(
        "Bodies of any size are transferred",
        arguments: [1, 4095, 4096, 16_383, 16_384, 16_385, 65_536, 100_000, 1_000_000])
    func carriesBodiesOfAnySize(size: Int) async throws {
        let handler: TestHandler = { request, responder in
            try? responder.respond(status: 200, body: request.body + request.body + request.body)
        }
        try await withTLSServer(handler: handler) { server, root, authority in
            try await withDirectory { directory in
                let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 / 251) }
                try Data(bytes).write(to: URL(fileURLWithPath: directory + "/in"))
                for expectation in ["Expect:", "Expect: 100-continue"] {
                    _ = try await curl(
                        "--ipv4", "--cacert", authority, "--data-binary", "@\(directory)/in", "-H", expectation, "-H",
                        "Content-Type: application/octet-stream", "-o", "\(directory)/out", root + "/")
                    let back = try Data(contentsOf: URL(fileURLWithPath: directory + "/out"))
                    #expect(back == Data(bytes + bytes + bytes))
                }
            }
        }
    }

    /// Sends a large answer in pieces to a client that reads slowly.
    @Test("A stream reaches a slow client") func streamsToASlowClient() async throws {
        let chunk = (0..<10_007).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let total = 200
        let handler: TestHandler = { _, responder in
            var sent = 0
            func sendOn() {
                while sent < total {
                    switch responder.send(chunk) {
                    case .more: sent += 1
                    case .wait:
                        sent += 1
                        return
                    case .refused: return
                    case .closed:
                        Issue.record("the client is still connected")
                        return
                    }
                }
                try? responder.finish()
            }
            try? responder.start(status: 200)
            responder.onDrain = { sendOn() }
            sendOn()
        }
        var limits = HTTP1Limits()
        limits.streamBufferBytes = 50_000
        try await withTLSServer(limits: limits, handler: handler) { server, root, authority in
            try await withDirectory { directory in
                _ = try await curl(
                    "--ipv4", "--cacert", authority, "--limit-rate", "4M", "-o", "\(directory)/out", root + "/")
                let back = try Data(contentsOf: URL(fileURLWithPath: directory + "/out"))
                #expect(back == Data((1...total).flatMap { _ in chunk }))
            }
        }
    }

    /// For an HTTP/1.0 client, the end of the connection ends the answer, and only TLS can prove that it is complete.
    @Test("A complete answer ends with close_notify") func tellsTheClientThatAnAnswerIsComplete() async throws {
        let handler: TestHandler = { _, responder in
            try? responder.start(status: 200)
            _ = responder.send(Array("all of it".utf8))
            try? responder.finish()
        }
        try await withTLSServer(handler: handler) { server, _, _ in
            let client = try SecureClient(port: server.port)
            try client.send(Array("GET / HTTP/1.0\r\n\r\n".utf8))
            _ = try client.receive(until: "all of it")
            #expect(try client.isToldTheEnd())
        }
    }

    /// A client that ends its side of TLS after its request, and then reads the answer.
    private static let halfClosingClient = """
        import socket, ssl, sys
        context = ssl.create_default_context(cafile=sys.argv[2])
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
        connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
        def step(action):
            while True:
                try:
                    result = action()
                    connection.sendall(outgoing.read())
                    return result
                except ssl.SSLWantReadError:
                    connection.sendall(outgoing.read())
                    data = connection.recv(65536)
                    incoming.write(data) if data else incoming.write_eof()
        step(tls.do_handshake)
        step(lambda: tls.write(b"GET / HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n"))
        count = len(step(lambda: tls.read(1000)))
        # OpenSSL rejects data that it has read and not passed on.
        try:
            while True:
                count += len(tls.read(65536))
        except ssl.SSLWantReadError:
            pass
        try:
            tls.unwrap()
        except ssl.SSLWantReadError:
            connection.sendall(outgoing.read())
        try:
            while piece := step(lambda: tls.read(65536)):
                count += len(piece)
            print(count)
        except ssl.SSLZeroReturnError:
            print(count)
        """

    @Test("A client that ends its side of TLS receives the rest of the answer")
    func serveAfterCloseNotify() async throws {
        let size = 8_000_000
        let handler: TestHandler = { _, responder in
            try? responder.respond(status: 200, body: [UInt8](repeating: 0x61, count: size))
        }
        try await withTLSServer(handler: handler) { server, _, authority in
            let ended = try await ChildProcess.run(
                "/usr/bin/python3", ["-c", Self.halfClosingClient, "\(server.port)", authority])
            let count = Int(ended.output.split(separator: "\n").first ?? "") ?? 0
            #expect(ended.status == 0 && count > size && count < size + 1000, "\(ended)")
            await server.until { $0.open == 0 }
        }
    }

    /// While an answer is late, the server stops reading before or after any record. The socket has no further data then,
    /// so no part of a record may stay in OpenSSL.
    @Test("The rest of a delayed record is read", arguments: [100, 500, 1000, 2000, 4000, 4096, 5000, 8000, 16_284])
    func readsTheRestOfARecordThatWasHeldBack(pieceSize: Int) async throws {
        let held = Held<HTTP1Responder?>(nil)
        let arrivals = Tally()
        let handler: TestHandler = { request, responder in
            if request.path == ["late"] {
                held.value = responder
                arrivals.add()
            } else {
                echo(request, responder)
            }
        }
        try await withTLSServer(handler: handler) { server, _, _ in
            let client = try SecureClient(port: server.port)
            try client.send(Array("GET /late HTTP/1.1\r\nHost: x\r\n\r\n".utf8))
            await arrivals.reaches(1)
            let head = "POST /next HTTP/1.1\r\nHost: x\r\nContent-Length: 32000\r\n\r\n"
            let next = Array(head.utf8) + [UInt8](repeating: 0x62, count: 32_000)
            for start in stride(from: 0, to: 16_284, by: pieceSize) {
                try client.send(Array(next[start..<min(start + pieceSize, 16_284)]))
            }
            try client.send(Array(next[16_284...]))
            // Enough turns of the loop to receive everything that is accepted.
            for _ in 1...100 { await server.loop.run {} }
            try await server.loop.run { try held.value.take()?.respond(status: 200, body: Array("late".utf8)) }
            let text = try client.receive(until: String(repeating: "b", count: 32_000))
            #expect(text.contains("late"))
            #expect(text.contains("POST /next"))
        }
    }

    @Test("The server survives clients that do not speak TLS") func survivesClientsThatDoNotSpeakTLS() async throws {
        try await withTLSServer { server, root, authority in
            let openings = [
                "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "\u{16}\u{3}\u{1}", "\u{16}\u{3}\u{1}\u{ff}\u{ff}", "", "\0\0\0\0",
                String(repeating: "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}", count: 1000),
            ]
            for number in 0..<120 {
                let client = try server.client()
                client.sendUntilClosed(Array(openings[number % openings.count].utf8))
                number % 2 == 0 ? client.close() : client.reset()
            }
            await server.until { $0.accepted == 120 && $0.open == 0 }
            #expect(await server.counts.requests == 0)
            #expect(try await curl("--ipv4", "--cacert", authority, root + "/").hasPrefix("GET /"))
        }
    }

    @Test("The TLS handshake has a time limit") func doesNotWaitForEverForAHandshake() async throws {
        try await withServer(tls: Self.context()) { server in
            let client = try server.client()
            try client.send("\u{16}\u{3}\u{1}")
            await server.until { $0.accepted == 1 }
            await server.loop.advance(by: .seconds(9))
            #expect(await server.counts.open == 1)
            await server.loop.advance(by: .seconds(1))
            await server.until { $0.open == 0 }
            #expect(try client.isAtEnd())
        }
    }

    /// OpenSSL uses the context with which a connection was accepted until its handshake is done. It must stay alive,
    /// even if the server has another one by then.
    @Test("A replaced context lives until its handshakes are done") func aContextOutlivesItsReplacement() async throws {
        try await withTLSServer { server, root, authority in
            let first = Held<WeakContext?>(nil)
            // Only the server holds this context.
            try await server.loop.run {
                server.server.wrapped.tls = try Self.context()
                first.value = WeakContext(context: server.server.wrapped.tls)
            }
            let silent = try server.client()
            await server.until { $0.open == 1 }
            let next = try Self.context()
            await server.loop.run { server.server.wrapped.tls = next }
            #expect(await server.loop.run { first.value?.context != nil })
            silent.close()
            await server.until { $0.open == 0 }
            #expect(try await curl("--ipv4", "--cacert", authority, root + "/").hasPrefix("GET /"))
        }
    }

    private final class WeakContext {
        weak var context: TLSContext?

        init(context: TLSContext?) {
            self.context = context
        }
    }

    @Test("Silent connections make room for others") func silentConnectionsMakeRoom() async throws {
        var limits = HTTP1Limits()
        limits.connections = 1
        try await withTLSServer(limits: limits) { server, root, authority in
            let silent = try server.client()
            await server.until { $0.open == 1 }
            // A silent connection without even a handshake makes room.
            #expect(try await curl("--ipv4", "--cacert", authority, root + "/").hasPrefix("GET /"))
            #expect(try silent.isAtEnd())
            await server.until { $0.open == 0 && $0.refusing == 0 }
        }
    }
}
