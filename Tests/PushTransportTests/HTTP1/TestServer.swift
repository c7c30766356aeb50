import PushLoop
import PushTransport
import Synchronization
import TestSupport
import Testing

/// A server on a loop of its own, for one test.
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

    /// As `close`, with no patience for clients that were refused and stay.
    fileprivate func end(clock: LoopClock) async {
        let done = Tally()
        await loop.run { server.wrapped.close { done.add() } }
        if case .manual = clock {
            while done.value == 0 { await loop.advance(by: .seconds(10)) }
        }
        await done.reaches(1)
    }

    /// Waits, without sleeping, for what another thread is about to do. The test's time limit ends a wait in vain.
    func until(_ condition: @Sendable (HTTP1Server.Counts) -> Bool) async {
        while await !condition(counts) { await Task.yield() }
    }

    func client() throws -> RawClient {
        try RawClient(port: port)
    }

    /// One request on a connection of its own.
    func answer(to text: String, toHead: Bool = false) throws -> RawClient.Answer {
        let client = try client()
        try client.send(text)
        return try client.answer(toHead: toHead)
    }
}

typealias TestHandler = @Sendable (HTTP1Request, HTTP1Responder) -> Void

/// Its clock stands still unless the test turns it, so that no test depends on how fast the machine is.
func withServer(
    limits: HTTP1Limits = HTTP1Limits(), tls: TLSContext? = nil, clock: LoopClock = .manual(),
    handler: @escaping TestHandler = echo, _ body: (TestServer) async throws -> Void
) async throws {
    let loop = EventLoop(name: "http1-test", clock: clock)
    let server = await loop.run {
        LoopBound(HTTP1Server(on: loop, limits: limits, tls: tls, handler: handler), on: loop)
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

/// Tells the client what was understood.
let echo: TestHandler = { request, responder in
    var text = "\(request.method.rawValue) \(request.target) \(request.path)"
    for item in request.query { text += " \(item.name)=\(item.value)" }
    text += " \(request.body.count):" + String(decoding: request.body, as: UTF8.self)
    try? responder.respond(status: 200, headers: ["Content-Type": "text/plain"], body: Array(text.utf8))
}

/// Keeps what belongs to the loop for a later visit there.
final class Held<Value>: @unchecked Sendable {
    // Unchecked: touched on the test's loop only.
    var value: Value

    init(_ value: Value) {
        self.value = value
    }
}

/// Counts from anywhere.
final class Tally: Sendable {
    private let count = Atomic(0)

    var value: Int { count.load(ordering: .acquiring) }

    func add(_ amount: Int = 1) {
        count.add(amount, ordering: .acquiringAndReleasing)
    }

    func reaches(_ target: Int) async {
        while value < target { await Task.yield() }
    }
}
