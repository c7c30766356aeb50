import PushLoop
import PushTransport
import Receipts
import ReceiptsNetwork
import TestSupport
import TestTraits
import Testing

@Suite(.waits) struct URLSessionTransportTests {
    /// A server with some routes, with TLS or without.
    private struct Server {
        let port: UInt16
        let requests = Locked<[String]>([])
        /// The requests without a response. A responder that is released answers by itself.
        private let silent = Locked<[HTTP1Responder]>([])
        private let loop = EventLoop(name: "receipts-test")
        private let server: LoopBound<HTTP1Server>

        init(tls: TLSContext? = nil) async throws {
            server = await loop.run { [loop, requests, silent] in
                LoopBound(
                    HTTP1Server(on: loop, tls: tls) { request, responder in
                        let body = String(decoding: request.body, as: UTF8.self)
                        let type = request.headers["Content-Type"] ?? ""
                        requests.withLock { $0.append("\(request.method.rawValue) \(request.target) \(type) \(body)") }
                        switch request.target {
                        case "/long":
                            try? responder.respond(
                                status: 200, headers: [:], body: [UInt8](repeating: 7, count: 200_000))
                        case "/moved":
                            try? responder.respond(status: 302, headers: ["Location": "/ok"], body: [])
                        case "/locked":
                            try? responder.respond(
                                status: 401, headers: ["WWW-Authenticate": "Basic realm=\"x\""],
                                body: Array("no".utf8))
                        case "/silent": silent.withLock { $0.append(responder) }
                        default: try? responder.respond(status: 503, headers: [:], body: Array("ok".utf8))
                        }
                    }, on: loop)
            }
            port = try await loop.run { [server] () throws(HTTP1Error) in
                try server.wrapped.listen(host: "127.0.0.1", port: 0)
            }
        }

        /// Listens until `body` has ended, also by an error.
        static func run(tls: TLSContext? = nil, _ body: (Server) async throws -> Void) async throws {
            let server = try await Server(tls: tls)
            let result: Result<Void, any Error>
            do {
                result = .success(try await body(server))
            } catch {
                result = .failure(error)
            }
            await server.end()
            try result.get()
        }

        private func end() async {
            await withCheckedContinuation { continuation in
                loop.execute { [server] in server.wrapped.close { continuation.resume() } }
            }
            await loop.shutDown()
        }
    }

    private func request(_ url: String, maxLength: Int = 1000, within limit: Duration = .seconds(60)) -> ReceiptRequest
    {
        ReceiptRequest(
            url: url, contentType: "application/ocsp-request", body: Array("hello".utf8), maxResponseLength: maxLength,
            timeLimit: limit)
    }

    @Test("A request is posted, and its response returned whatever the status; redirects are not followed")
    func post() async throws {
        try await Server.run { server in
            let transport = URLSessionTransport()
            let response = try await transport.post(request("http://127.0.0.1:\(server.port)/ok"))
            #expect(response == ReceiptResponse(status: 503, body: Array("ok".utf8)))
            #expect(try await transport.post(request("http://127.0.0.1:\(server.port)/moved")).status == 302)
            let locked = try await transport.post(request("http://127.0.0.1:\(server.port)/locked"))
            #expect(locked == ReceiptResponse(status: 401, body: Array("no".utf8)))
            #expect(
                server.requests.withLock { $0 } == [
                    "POST /ok application/ocsp-request hello", "POST /moved application/ocsp-request hello",
                    "POST /locked application/ocsp-request hello",
                ])
        }
    }

    @Test("A response that is too long, that does not come, or from a server without trust is a failure")
    func failures() async throws {
        try await Server.run { server in
            let transport = URLSessionTransport()
            let address = "http://127.0.0.1:\(server.port)"
            await #expect(throws: URLSessionTransport.Failure.self) {
                try await transport.post(request("\(address)/long", maxLength: 199_999))
            }
            #expect(try await transport.post(request("\(address)/long", maxLength: 200_000)).body.count == 200_000)
            await #expect(throws: URLSessionTransport.Failure.self) {
                try await transport.post(request("\(address)/silent", within: .milliseconds(20)))
            }
            for wrong in ["ftp://127.0.0.1/", "", "file:///etc/passwd"] {
                await #expect(throws: URLSessionTransport.Failure.self) { try await transport.post(request(wrong)) }
            }
            let tls = try TestCertificates.shared.serverContext(alpn: ["http/1.1"])
            try await Server.run(tls: tls) { secure in
                await #expect(throws: URLSessionTransport.Failure.self) {
                    try await transport.post(request("https://localhost:\(secure.port)/ok"))
                }
                #expect(secure.requests.withLock { $0.isEmpty })
            }
        }
    }

    @Test("A redirect that meets the end of its time ends nothing but its request")
    func lateRedirects() async throws {
        try await Server.run { server async throws in
            let transport = URLSessionTransport()
            let ended = Locked(0)
            await withTaskGroup { group in
                for task in 0..<8 {
                    group.addTask {
                        for number in 0..<200 {
                            // About the time that a request takes, so that many end while the redirect arrives.
                            let limit = Duration.microseconds(500 + (number * 131 + task * 17) % 4000)
                            let response = try? await transport.post(
                                request("http://127.0.0.1:\(server.port)/moved", within: limit))
                            #expect(response == nil || response?.status == 302)
                            // On a loaded machine, most requests meet the end of their time, and each takes long.
                            let count = ended.withLock { count in
                                count += response == nil ? 1 : 0
                                return count
                            }
                            if count >= 40 { return }
                        }
                    }
                }
            }
            #expect(try await transport.post(request("http://127.0.0.1:\(server.port)/ok")).status == 503)
        }
    }

    @Test("A cancelled task ends its request, before and after its start")
    func cancelled() async throws {
        try await Server.run { server in
            let transport = URLSessionTransport()
            for isEarly in [true, false] {
                let task = Task { try await transport.post(request("http://127.0.0.1:\(server.port)/silent")) }
                if !isEarly { await wait(while: server.requests.withLock({ $0.isEmpty })) }
                task.cancel()
                await #expect(throws: URLSessionTransport.Failure.self) { try await task.value }
            }
        }
    }
}
