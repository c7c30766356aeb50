import Foundation
import TestSupport
import TestTraits
import Testing

@testable import RequestQueue

/// Requests to a server that breaks every rule.
@Suite(.waits) struct QueueFaultTests {
    private func quick(_ url: URL, attempts: Int = 1) -> Request {
        var request = Request.get(url)
        request.retry = RetryRule(maxAttempts: attempts, firstPause: .milliseconds(1))
        return request
    }

    private func code(_ request: Request, queue: RequestQueue = RequestQueue()) async -> RequestError.Code? {
        do {
            _ = try await queue.send(request)
            return nil
        } catch {
            return error.code
        }
    }

    @Test(arguments: [HTTPMethod.get, .post, .put, .delete, .patch])
    func `Every method arrives with its body and fields`(_ method: HTTPMethod) async throws {
        let server = try await FaultServer()
        var request = Request(
            method, url: try server.url("/echo"), body: method == .get ? .none : .form(["a b": "c&ü"]))
        request.fields["X-Test"] = "1"
        let echo: Echo = try await RequestQueue().send(request).decoded()
        #expect(echo.method == method.rawValue && echo.fields["x-test"] == "1")
        #expect(echo.body == (method == .get ? "" : "a+b=c%26%C3%BC"))
        let type = method == .get ? nil : "application/x-www-form-urlencoded"
        #expect(echo.fields["content-type"] == type && echo.fields["transfer-encoding"] == nil)
    }

    @Test(arguments: ["/reset", "/half", "/short", "/raw?hex=ff00ff0a0d", "/raw?hex=", "/raw?hex=485454502f312e31"])
    func `A connection that breaks is an error and not half a response`(_ path: String) async throws {
        let server = try await FaultServer()
        let url = try #require(URL(string: path, relativeTo: server.url("/"))).absoluteURL
        #expect(await code(quick(url)) == .connectionLost)
    }

    @Test func `A body beyond the announced length is cut at it`() async throws {
        let server = try await FaultServer()
        #expect(try await RequestQueue().send(quick(server.url("/extra"))).body == Data("01234".utf8))
    }

    @Test(arguments: ["/promise", "/endless", "/bomb"])
    func `A response above the limit ends at once`(_ path: String) async throws {
        let server = try await FaultServer()
        var request = quick(try server.url(path), attempts: 4)
        request.maxResponseBytes = 1 << 20
        #expect(await code(request) == .responseTooLarge)
    }

    @Test(arguments: ["/silent", "/stalled"])
    func `A server that does not answer is a timeout`(_ path: String) async throws {
        let server = try await FaultServer()
        var request = quick(try server.url(path), attempts: 2)
        request.timeouts.idle = .milliseconds(100)
        #expect(await code(request) == .timedOut)
        request.timeouts = Timeouts(total: .milliseconds(100))
        #expect(await code(request) == .timedOut)
    }

    @Test func `A slow body arrives`() async throws {
        let server = try await FaultServer()
        #expect(try await RequestQueue().send(quick(server.url("/slow"))).body.count == 20)
    }

    @Test(arguments: ["status", "reset"])
    func `An idempotent request is repeated and a POST is not`(_ how: String) async throws {
        let server = try await FaultServer()
        let url = try server.url("/flaky/key/2", ["how": how])
        let response = try await RequestQueue().send(quick(url, attempts: 4))
        #expect(response.body == Data("3".utf8) && response.attempts == 3)
        var post = Request.post(try server.url("/flaky/post/1", ["how": how]), body: .data(Data("x".utf8)))
        post.retry.firstPause = .milliseconds(1)
        let queue = RequestQueue()
        if how == "status" {
            #expect(try await queue.send(post).status == 503)
        } else {
            #expect(await code(post, queue: queue) == .connectionLost)
        }
        #expect(try await queue.send(quick(server.url("/count/post"))).body == Data("1".utf8))
        post.retry.retriesUnsafe = true
        post.url = try server.url("/flaky/again/1", ["how": how])
        #expect(try await queue.send(post).body == Data("2".utf8))
    }

    @Test func `A server that nobody runs cannot be reached`() async throws {
        let taken = try #require(TakenPort())
        let url = try #require(URL(string: "http://127.0.0.1:\(taken.number)/ok"))
        #expect(await code(quick(url, attempts: 2)) == .cannotConnect)
        withExtendedLifetime(taken) {}
    }

    @Test func `Interim answers are not the response`() async throws {
        let server = try await FaultServer()
        let bytes =
            "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 103 E\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        let hex = bytes.utf8.map {
            String($0, radix: 16).count == 1 ? "0" + String($0, radix: 16) : String($0, radix: 16)
        }
        let response = try await RequestQueue().send(quick(server.url("/raw", ["hex": hex.joined()])))
        #expect(response.status == 200 && response.body == Data("ok".utf8))
    }

    @Test(arguments: [401, 404, 301, 304, 500])
    func `Another status is a response`(_ status: Int) async throws {
        let server = try await FaultServer()
        let url = try server.url("/status/\(status)", ["WWW-Authenticate": "Basic realm=\"x\""])
        #expect(try await RequestQueue().send(quick(url)).status == status)
    }

    @Test func `A cancelled task cancels its request, and the place is free`() async throws {
        let server = try await FaultServer()
        let queue = RequestQueue(limits: QueueLimits(maxRunning: 1))
        let task = Task { await self.code(quick(try server.url("/silent")), queue: queue) }
        await wait(while: await queue.runningCount == 0)
        task.cancel()
        #expect(try await task.value == .cancelled)
        #expect(try await queue.send(quick(server.url("/ok"))).status == 200)
    }

    @Test func `HEAD has the length without the body`() async throws {
        let server = try await FaultServer()
        var request = Request(.head, url: try server.url("/file/f/5000000"))
        request.maxResponseBytes = 10
        let response = try await RequestQueue().send(request)
        #expect(response.fields["content-length"] == "5000000" && response.body.isEmpty)
    }

    @Test func `A certificate that nobody has signed is not trusted, and is not tried again`() async throws {
        let directory = try TemporaryDirectory()
        let (key, certificate) = ("\(directory.path)/key.pem", "\(directory.path)/certificate.pem")
        let made = try await ChildProcess.run(
            "openssl",
            [
                "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-keyout", key, "-out",
                certificate,
            ])
        try #require(made.status == 0, "\(made.errors)")
        let server = try ChildProcess(
            "openssl", ["s_server", "-accept", "127.0.0.1:0", "-key", key, "-cert", certificate, "-www"])
        var port: Int?
        while port == nil {
            let line = try #require(try await server.line())
            if line.hasPrefix("ACCEPT") { port = line.split(separator: ":").last.flatMap { Int($0) } }
        }
        let url = try #require(URL(string: "https://127.0.0.1:\(port ?? 0)/"))
        #expect(await code(quick(url, attempts: 4)) == .untrusted)
    }

    @Test func `The largest durations are no limit`() async throws {
        let server = try await FaultServer()
        var request = quick(try server.url("/ok"))
        request.timeouts = Timeouts(idle: .seconds(Int64.max), total: .seconds(Int64.max))
        #expect(try await RequestQueue().send(request).status == 200)
    }

    #if compiler(>=6.4)
    // Foundation of Swift 6.3 traps on these; see "Limits of Foundation on Linux" in RequestQueue.md.
    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nX", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX: y\r\n\r\n",
    ])
    func `A head that ends in the middle, and trailers, do not end the process`(_ text: String) async throws {
        let server = try await FaultServer()
        let hex = text.utf8.map { String(Int($0) + 256, radix: 16).dropFirst() }.joined()
        let code = await code(quick(try server.url("/raw", ["hex": hex])))
        #expect(code == nil || code == .connectionLost)
    }
    #endif
}
