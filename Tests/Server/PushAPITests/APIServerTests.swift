import FoundationEssentials
import Glibc
import JSON5
import PushConfiguration
import PushLoop
import PushModel
import PushTransport
import ServerTestSupport
import TestSupport
import TestTraits
import Testing

@testable import PushAPI

@Suite(.waits) struct APIServerTests {
    @Test func `Gateways can be listed and read one by one`() async throws {
        try await withControl { control in
            let list = try await control.client.ask("GET", at: "/v1/gateways", for: GatewayList.self)
            #expect(list.gateways == ScriptedGateways.two)
            let shop = try await control.client.ask("GET", at: "/v1/gateways/shop", for: GatewayAnswer.self)
            #expect(shop == ScriptedGateways.two[1])
        }
    }

    @Test func `The list of gateways has pages`() async throws {
        try await withControl { control in
            let first = try await control.client.ask("GET", at: "/v1/gateways?limit=1", for: GatewayList.self)
            #expect(first.gateways.map(\.app) == ["news"] && first.next == .after("news"))
            let rest = try await control.client.ask("GET", at: "/v1/gateways?after=news", for: GatewayList.self)
            #expect(rest.gateways.map(\.app) == ["shop"] && rest.next == .end)
            let answer = try await control.client.send("GET", to: "/v1/gateways")
            #expect(String(decoding: answer.body, as: UTF8.self).hasSuffix("],\"next\":null}\n"))
        }
    }

    @Test func `The JSON of a gateway has the documented keys`() async throws {
        try await withControl { control in
            let answer = try await control.client.send("GET", to: "/v1/gateways/shop")
            #expect(
                String(decoding: answer.body, as: UTF8.self) == """
                    {"app":"shop","connections":[{"address":"17.188.1.2:443","age_ms":7384000,"answered":123456,\
                    "id":3,"in_flight":12,"last_ping_ms":1.234,"oldest_unanswered_ms":45.678,"state":"open",\
                    "stream_limit":1000,"waiting":1},{"age_ms":900,"answered":0,"id":4,"in_flight":0,\
                    "last_goaway":"Shutdown\\u001b[31m","state":"draining","waiting":0}],"credit":983,\
                    "environment":"production","queue":17,"scale":{"max":4,"min":1},"state":"up"}

                    """)
        }
    }

    @Test func `A request scales a gateway`() async throws {
        try await withControl { control in
            let body = Array(#"{"min":2,"max":8}"#.utf8)
            let path = "/v1/gateways/shop/connections"
            let now = try await control.client.ask("PUT", at: path, body: body, for: GatewayAnswer.self)
            #expect(now.scale == .init(2...8))
            #expect(control.gateways.scaled == ["shop 2...8"])
        }
    }

    /// The method, path and body of a request, and the status, code and a part of the message of its answer.
    static let refused: [(String, String, String, Int, String, String)] = [
        ("GET", "/", "", 404, "not_found", "there is nothing at /"),
        ("GET", "/v1", "", 404, "not_found", "/v1"), ("GET", "/v1/gateways/", "", 404, "not_found", "at /v1/gateways/"),
        ("GET", "/v1/gateways/shop/connections/3", "", 404, "not_found", "connections/3"),
        ("POST", "/v1/gateways", "", 405, "method_not_allowed", "POST is not allowed at /v1/gateways; use GET, HEAD"),
        ("GET", "/v1/gateways/shop/connections", "", 405, "method_not_allowed", "use PUT"),
        ("GET", "/v1/gateways?verbose=1", "", 422, "invalid", "no query parameter \"verbose\""),
        ("GET", "/v1/gateways/nobody", "", 404, "unknown_app", "there is no app \"nobody\""),
        ("GET", "/v1/gateways/a%2Fb", "", 422, "invalid", "app: the value is invalid"),
        ("PUT", "/v1/gateways/nobody/connections", #"{"min":1,"max":2}"#, 404, "unknown_app", "nobody"),
        ("PUT", "/v1/gateways/shop/connections", "", 400, "bad_json", "the body is not JSON"),
        ("PUT", "/v1/gateways/shop/connections", "[1]", 422, "invalid", "an object is expected, not an array"),
        ("PUT", "/v1/gateways/shop/connections", "{}", 422, "invalid", "/min: the value is missing"),
        ("PUT", "/v1/gateways/shop/connections", #"{"min":1}"#, 422, "invalid", "/max: the value is missing"),
        (
            "PUT", "/v1/gateways/shop/connections", #"{"min":1,"max":"2"}"#, 422, "invalid",
            "/max: a whole number is expected, not a string"
        ),
        (
            "PUT", "/v1/gateways/shop/connections", #"{"min":1,"max":2.5}"#, 422, "invalid",
            "/max: a whole number from 1 to 1000 is expected, not 2.5"
        ),
        ("PUT", "/v1/gateways/shop/connections", #"{"min":0,"max":2}"#, 422, "invalid", "from 1 to 1000"),
        ("PUT", "/v1/gateways/shop/connections", #"{"min":1,"max":1001}"#, 422, "invalid", "from 1 to 1000"),
        ("PUT", "/v1/gateways/shop/connections", #"{"min":3,"max":2}"#, 422, "invalid", "min is 3 and max is 2"),
        ("PUT", "/v1/gateways/shop/connections", #"{"min":1,"max":2,"now":1}"#, 422, "invalid", "no key \"now\""),
        (
            "PUT", "/v1/gateways/shop/connections", #"{"min":1,"min":1}"#, 422, "invalid",
            "the key \"min\" is given twice"
        ),
    ]

    @Test func `A wrong request is answered with status, code and reason`() async throws {
        try await withControl { control in
            for (method, path, body, status, code, message) in Self.refused {
                let answer = try await control.client.send(method, to: path, body: Array(body.utf8))
                #expect(answer.status == status, "\(method) \(path) \(body)")
                let problem = try JSONDecoder().decode(Problem.self, from: Data(answer.body))
                #expect(problem.code.rawValue == code && problem.detail.contains(message), "\(problem)")
            }
            #expect(control.gateways.scaled.isEmpty)
            let raw = try control.raw()
            try raw.send("DELETE /v1/gateways HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try raw.answer().header("Allow") == "GET, HEAD")
        }
    }

    @Test func `An error of a gateway becomes an answer`() async throws {
        try await withControl { control in
            control.gateways.state.withLock {
                $0.refusal = Problem(.conflict, detail: "shop is being removed")
            }
            let body = Array(#"{"min":1,"max":1}"#.utf8)
            let failure = await #expect(throws: APIClientError.self) {
                _ = try await control.client.ask(
                    "PUT", at: "/v1/gateways/shop/connections", body: body, for: GatewayAnswer.self)
            }
            #expect(failure?.code == .refused(status: 409) && failure?.description == "shop is being removed")
            control.gateways.state.withLock { $0.refusal = StartError(.failed, "no luck") }
            let answer = try await control.client.send("PUT", to: "/v1/gateways/shop/connections", body: body)
            #expect(answer.status == 500)
            #expect(
                String(decoding: answer.body, as: UTF8.self)
                    == """
                    {"code":"internal","detail":"no luck","status":500,"title":"The server failed","type":"about:blank"}

                    """)
        }
    }

    // MARK: Malicious clients

    @Test func `Malformed and oversized requests are rejected, and the next request is answered`() async throws {
        try await withControl { control in
            let huge = String(repeating: "x", count: 100_000)
            let cases: [(String, Int)] = [
                ("\u{0}\u{1}garbage\r\n\r\n", 400), ("GET / HTTP/9.9\r\nHost: x\r\n\r\n", 505),
                ("GET /\(huge) HTTP/1.1\r\nHost: x\r\n\r\n", 414),
                ("GET / HTTP/1.1\r\nHost: x\r\nX: \(huge)\r\n\r\n", 431),
                ("PUT /v1/gateways/shop/connections HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n\r\n", 413),
                ("GET /v1/../etc HTTP/1.1\r\nHost: x\r\n\r\n", 400),
            ]
            for (text, status) in cases {
                let raw = try control.raw()
                raw.sendUntilClosed(Array(text.utf8))
                #expect(try raw.answer().status == status, "\(text.prefix(60))")
            }
            let deep = String(repeating: "[", count: 60_000)
            let answer = try await control.client.send(
                "PUT", to: "/v1/gateways/shop/connections", body: Array(deep.utf8))
            #expect(answer.status == 422)
            #expect(try await control.client.send("GET", to: "/v1/gateways").status == 200)
        }
    }

    @Test func `A slow request times out and does not block other requests`() async throws {
        try await withControl(clock: .manual()) { control in
            let slow = try control.raw()
            try slow.send("GET /v1/gate")
            #expect(try await control.client.send("GET", to: "/v1/gateways").status == 200)
            await wait(while: await control.server.counts.open != 1)
            await control.loop.advance(by: .seconds(6))
            #expect(try slow.answer().status == 408)
        }
    }

    @Test func `The number of connections is bounded`() async throws {
        var limits = HTTP1Limits.controlSocket
        limits.connections = 2
        try await withControl(limits: limits, clock: .manual()) { control in
            let idle = [try control.raw(), try control.raw()]
            await wait(while: await control.server.counts.open != 2)
            // The connection that is idle for the longest time is closed for the new one.
            #expect(try await control.client.send("GET", to: "/v1/gateways").status == 200)
            #expect(try idle[0].isAtEnd())
            #expect(await control.server.counts.evicted == 1)
        }
    }

    @Test func `The server survives mutated requests`() async throws {
        try await withControl { control in
            var random = SeededRandom(seed: 3)
            let body = #"{"min":2,"max":8}"#
            let request = Array(
                "PUT /v1/gateways/shop/connections HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
                    .utf8)
            let texts = (0..<200).map { _ in random.mutate(request, chance: 0.9) }
            // The answers come from tasks, which need the threads of the cooperative pool.
            try await BlockingPool(name: "raw", threadCount: 1, queueLimit: 1).run {
                for text in texts {
                    let raw = try control.raw()
                    raw.sendUntilClosed(text)
                    raw.endSending()
                    _ = try? raw.rest()
                }
            }
            #expect(try await control.client.send("GET", to: "/v1/gateways").status == 200)
        }
    }

    // MARK: The socket file

    @Test func `Only the owner may use the socket`() async throws {
        try await withControl { control in
            var found = stat()
            #expect(stat(control.server.address, &found) == 0)
            #expect(found.st_mode & 0o777 == 0o600)
        }
    }

    @Test func `A stale socket file is replaced, and one in use is not`() async throws {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/\(ControlSocket.fileName)"
        let loop = EventLoop(name: "control-test")
        let table = EndpointTable(GatewayEndpoints.all(ScriptedGateways()))
        // A killed process leaves a socket file on which no process listens.
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let stale = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(stale, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        #expect(bound == 0)
        close(stale)
        let server = try await APIServer(
            at: .socket(path: path), on: loop, limits: .controlSocket, table: table,
            access: ControlAccess())
        // This must not throw, because the server has to be stopped.
        let client = APIClient(dataDirectory: directory.path, deadline: .seconds(120))
        let status = try? await client.send("GET", to: "/v1/gateways").status
        #expect(status == 200)
        let failure = await #expect(throws: StartError.self) {
            _ = try await APIServer(
                at: .socket(path: path), on: loop, limits: .controlSocket, table: table,
                access: ControlAccess())
        }
        #expect(failure?.code == .tryAgain)
        #expect(failure?.description.contains("another process listens there") == true)
        await server.stop()
        #expect(access(path, F_OK) != 0)
        await loop.shutDown()
    }

    @Test func `A path that is too long for a socket is reported`() async throws {
        let directory = try TemporaryDirectory()
        let long = "\(directory.path)/\(String(repeating: "d", count: 120))"
        let loop = EventLoop(name: "control-test")
        let failure = await #expect(throws: StartError.self) {
            _ = try await APIServer(
                at: .socket(path: "\(long)/\(ControlSocket.fileName)"), on: loop, limits: .controlSocket,
                table: EndpointTable([]), access: ControlAccess())
        }
        #expect(failure?.description.contains("choose a data directory with a shorter path") == true)
        let other = await #expect(throws: APIClientError.self) {
            _ = try await APIClient(dataDirectory: long).send("GET", to: "/")
        }
        #expect(other?.code == .invalidPath)
        await loop.shutDown()
    }

    @Test func `Stopping the server waits for requests that have arrived`() async throws {
        let (asked, answer) = (Latch(), Latch())
        let endpoint = AnyEndpoint(SlowEndpoint(asked: asked, answer: answer))
        try await withControl(more: { _ in [endpoint] }) { control in
            async let slow = control.client.send("GET", to: "/slow")
            await asked.wait()
            async let stopped: Void = control.server.stop(within: .seconds(60))
            answer.open()
            let body = try await slow.body
            #expect(String(decoding: body, as: UTF8.self) == "{\"device\":\"x\",\"removed\":true}\n")
            await stopped
            let failure = await #expect(throws: APIClientError.self) {
                _ = try await control.client.send("GET", to: "/slow")
            }
            #expect(failure?.code == .notRunning)
        }
    }
}

/// An endpoint that answers when its test says so.
private struct SlowEndpoint: Endpoint {
    static let operation = Operation(
        .get, at: "/slow", id: "getSlow", access: .open, subject: "Test", summary: "Answers late.")

    let asked: Latch
    let answer: Latch

    func answer(_ input: NoInput, for caller: Caller) async -> Reply<RemovalAnswer> {
        asked.open()
        await answer.wait()
        return Reply(RemovalAnswer(id: "x", removed: true))
    }
}
