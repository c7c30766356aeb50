import PushLoop
import PushTransport
import TestSupport
import TestTraits
import Testing

@Suite(.waits) struct HTTP1ClientCallTests {
    /// Sends a request on a loop of its own. With `meanwhile`, the loop's clock stands still.
    private func call(
        _ text: String, body: String = "hello", trust: TLSTrust? = nil,
        meanwhile: (@Sendable (EventLoop) async throws -> Void)? = nil
    ) async throws -> HTTP1Response {
        let address = try #require(HTTP1Address(text))
        let tls = try trust.map { try TLSContext.client(TLSClientConfiguration(trust: $0)) }
        let loop = EventLoop(name: "call-test", clock: meanwhile == nil ? .monotonic : .manual())
        let pool = BlockingPool(name: "names", threadCount: 1, queueLimit: 8)
        let request = HTTP1ClientRequest(post: Array(body.utf8), to: address, contentType: "text/plain")
        async let response = HTTP1ClientCall.send(
            request, on: loop, resolver: NameResolver(pool: pool), tls: tls, within: .seconds(30))
        let result: Result<HTTP1Response, any Error>
        do {
            try await meanwhile?(loop)
            result = .success(try await response)
        } catch {
            result = .failure(error)
        }
        await loop.shutDown()
        await pool.shutDown()
        return try result.get()
    }

    @Test func `A request without TLS is answered`() async throws {
        try await withServer { server in
            let response = try await call("http://127.0.0.1:\(server.port)/a?b=c")
            #expect(response.status == 200)
            #expect(String(decoding: response.body, as: UTF8.self) == #"POST /a?b=c ["a"] b=c 5:hello"#)
        }
    }

    @Test func `A request with TLS is answered, and large bodies arrive whole`() async throws {
        let tls = try TLSContext.server(TLSServerConfiguration(identity: TestCertificates.shared.serverIdentity))
        try await withServer(tls: tls, clock: .monotonic) { server in
            let body = String(repeating: "0123456789", count: 60_000)
            let response = try await call(
                "https://localhost:\(server.port)/", body: body,
                trust: .only([.text(TestCertificates.shared.authority.certificatePEM)]))
            #expect(response.status == 200)
            #expect(String(decoding: response.body, as: UTF8.self).hasSuffix(" 600000:\(body)"))
        }
    }

    @Test func `A certificate that is not trusted ends the call before the request`() async throws {
        let tls = try TLSContext.server(TLSServerConfiguration(identity: TestCertificates.shared.serverIdentity))
        try await withServer(tls: tls, clock: .monotonic) { server in
            let stranger = try CertificateAuthority(commonName: "Stranger")
            let fault = await #expect(throws: HTTP1ClientFault.self) {
                _ = try await call("https://localhost:\(server.port)/", trust: .only([.text(stranger.certificatePEM)]))
            }
            #expect(fault?.description.contains("https://localhost:\(server.port)/: ") == true)
            #expect(fault?.description.contains("certificate") == true, "\(fault?.description ?? "")")
            await server.until { $0.open == 0 && $0.accepted == 1 }
            #expect(await server.counts.requests == 0)
        }
    }

    @Test func `Without a TLS configuration, https is refused`() async throws {
        await #expect(throws: HTTP1ClientFault.self) { _ = try await call("https://127.0.0.1:1/") }
    }

    @Test func `A port without a listener is reported`() async throws {
        let listener = try RawListener()
        let port = listener.port
        listener.close()
        let fault = await #expect(throws: HTTP1ClientFault.self) { _ = try await call("http://127.0.0.1:\(port)/") }
        #expect(fault?.description.contains("refused") == true, "\(fault?.description ?? "")")
    }

    @Test(arguments: [
        ("", "no response"), ("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", "incomplete"),
        ("garbage\r\n\r\n", "not an HTTP response"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", "incomplete"),
    ])
    func `A response that is cut off or malformed is reported`(text: String, problem: String) async throws {
        let listener = try RawListener()
        defer { listener.close() }
        let port = listener.port
        async let served: Void = listener.serveOnce(text, after: "hello")
        let fault = await #expect(throws: HTTP1ClientFault.self) { _ = try await call("http://127.0.0.1:\(port)/") }
        try await served
        #expect(fault?.description.contains(problem) == true, "\(fault?.description ?? "")")
    }

    @Test(arguments: [
        "HTTP/1.0 200 OK\r\n\r\nworld", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nworld",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nworld\r\n0\r\n\r\n",
    ])
    func `Each form of a body is read`(text: String) async throws {
        let listener = try RawListener()
        defer { listener.close() }
        let port = listener.port
        async let served: Void = listener.serveOnce(text, after: "hello")
        let response = try await call("http://127.0.0.1:\(port)/")
        try await served
        #expect(String(decoding: response.body, as: UTF8.self) == "world")
    }

    @Test func `A call whose task is cancelled ends at once, and closes the connection`() async throws {
        let loop = EventLoop(name: "call-test")
        let pool = BlockingPool(name: "names", threadCount: 1, queueLimit: 8)
        let listener = try RawListener()
        defer { listener.close() }
        let address = try #require(HTTP1Address("http://127.0.0.1:\(listener.port)/"))
        let call = Task {
            try await HTTP1ClientCall.send(
                HTTP1ClientRequest(post: Array("hello".utf8), to: address, contentType: "text/plain"), on: loop,
                resolver: NameResolver(pool: pool), tls: nil, within: .seconds(3600))
        }
        try await listener.serveOnce(nil, after: "hello")
        call.cancel()
        await #expect(throws: HTTP1ClientFault.self) { _ = try await call.value }
        await loop.shutDown()
        await pool.shutDown()
    }

    @Test func `A server that never answers costs the time of the call, and no more`() async throws {
        let listener = try RawListener()
        defer { listener.close() }
        let fault = await #expect(throws: HTTP1ClientFault.self) {
            _ = try await call("http://127.0.0.1:\(listener.port)/") { loop in
                try await listener.serveOnce(nil, after: "hello")
                await loop.advance(by: .seconds(31))
            }
        }
        #expect(fault?.description.contains("timed out") == true, "\(fault?.description ?? "")")
    }
}
