import PushLoop
import PushTransport
import Synchronization
import TestSupport
import Testing

/// A server on its own loop, for one test.
struct TestServer: Sendable {
    let loop: EventLoop
    let server: LoopBound<HTTP1Server>
    let port: UInt16

    var counts: HTTP1Server.Counts {
        get async { await loop.run { server.wrapped.counts } }
    }

    func close() async {
        await withCheckedContinuation { continuation in
            loop.execute { server.wrapped.close { continuation.resume() } }
        }
    }

    /// Closes the server without waiting for refused clients that stay connected.
    fileprivate func end(clock: LoopClock) async {
        let done = Tally()
        await loop.run { server.wrapped.close { done.add() } }
        if case .manual = clock {
            while done.value == 0 { await loop.advance(by: .seconds(10)) }
        }
        await done.reaches(1)
    }

    /// Waits for a condition without sleeping. If it is never met, the test's time limit ends the wait.
    func until(_ condition: @Sendable (HTTP1Server.Counts) -> Bool) async {
        await wait(while: await !condition(counts))
    }

    /// Waits until the incomplete bodies have this size together.
    func receives(_ count: Int) async {
        await wait(while: await loop.run({ server.wrapped.bodyBytes }) != count)
    }

    func client() throws -> RawClient {
        try RawClient(port: port)
    }

    /// Sends one request on a new connection.
    func answer(to text: String, toHead: Bool = false) throws -> RawClient.Answer {
        let client = try client()
        try client.send(text)
        return try client.answer(toHead: toHead)
    }
}

typealias TestRefusalWriter = @Sendable (HTTP1Refusal, HTTP1Method?) -> HTTP1Response

typealias TestHandler = @Sendable (HTTP1Request, HTTP1Responder) -> Void

/// Runs a test with a server. By default its clock stands still unless the test advances it, so that no test depends on
/// the speed of the machine.
func withServer(
    limits: HTTP1Limits = HTTP1Limits(), tls: TLSContext? = nil, clock: LoopClock = .manual(),
    writeRefusal: TestRefusalWriter? = nil, handler: @escaping TestHandler = echo,
    _ body: (TestServer) async throws -> Void
) async throws {
    let loop = EventLoop(name: "http1-test", clock: clock)
    let server = await loop.run {
        LoopBound(
            HTTP1Server(on: loop, limits: limits, tls: tls, writeRefusal: writeRefusal, handler: handler), on: loop)
    }
    let port = try await loop.run { () throws(HTTP1Error) in try server.wrapped.listen(host: "127.0.0.1", port: 0) }
    let test = TestServer(loop: loop, server: server, port: port)
    do {
        try await body(test)
    } catch {
        Issue.record(error)
    }
    await test.end(clock: clock)
    let counts = await test.counts
    #expect(counts.open == 0 && counts.refusing == 0)
    await loop.shutDown()
}

/// A handler that returns the parsed request to the client.
let echo: TestHandler = { request, responder in
    var text = "\(request.method.rawValue) \(request.target) \(request.path)"
    for item in request.query { text += " \(item.name)=\(item.value)" }
    text += " \(request.body.count):" + String(decoding: request.body, as: UTF8.self)
    try? responder.respond(status: 200, headers: ["Content-Type": "text/plain"], body: Array(text.utf8))
}

/// A container for a value of the loop, for later use on the loop.
final class Held<Value>: @unchecked Sendable {
    // Unchecked: accessed only on the test's loop.
    var value: Value

    init(_ value: Value) {
        self.value = value
    }
}

/// A thread-safe counter.
final class Tally: Sendable {
    private let count = Atomic(0)

    var value: Int { count.load(ordering: .acquiring) }

    func add(_ amount: Int = 1) {
        count.add(amount, ordering: .acquiringAndReleasing)
    }

    func reaches(_ target: Int) async {
        await wait(while: value < target)
    }
}
