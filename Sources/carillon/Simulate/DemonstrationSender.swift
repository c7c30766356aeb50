import PushLoop
import PushSimulator
import PushTransport

/// Sends prepared requests over one connection and waits for the outcome of each.
struct DemonstrationSender {
    let paths: [[UInt8]]
    let request: HTTP2PreparedRequest
    let bodies: [[UInt8]]

    func send(to place: HostPort, trusting files: SimulatorFiles) async throws -> [Demonstration.Outcome] {
        let tls = try TLSContext.client(
            TLSClientConfiguration(trust: .only([.file(files.authorityPath)]), alpn: ["h2"]))
        let loop = EventLoop(name: "demonstration")
        let pool = BlockingPool(name: "resolve", threadCount: 1, queueLimit: 4)
        let (paths, request, bodies) = (paths, request, bodies)
        let outcomes = await withCheckedContinuation { continuation in
            loop.execute {
                let run = Run(paths: paths, request: request, bodies: bodies) { continuation.resume(returning: $0) }
                run.start(on: loop, to: place, tls: tls, resolver: NameResolver(pool: pool))
            }
        }
        await loop.shutDown()
        await pool.shutDown()
        return outcomes
    }

    /// Lives on its loop until its connection has closed.
    private final class Run: HTTP2ClientConnectionDelegate {
        private let paths: [[UInt8]]
        private let request: HTTP2PreparedRequest
        private let bodies: [[UInt8]]
        private let done: ([Demonstration.Outcome]) -> Void
        private var outcomes: [Demonstration.Outcome?]
        private var started: [MonotonicTime]
        private var next = 0
        private var connection: HTTP2ClientConnection?
        private var keepsItself: Run?

        init(
            paths: [[UInt8]], request: HTTP2PreparedRequest, bodies: [[UInt8]],
            done: @escaping ([Demonstration.Outcome]) -> Void
        ) {
            self.paths = paths
            self.request = request
            self.bodies = bodies
            self.done = done
            outcomes = Array(repeating: nil, count: paths.count)
            started = Array(repeating: MonotonicTime.current(), count: paths.count)
        }

        func start(on loop: EventLoop, to place: HostPort, tls: TLSContext, resolver: NameResolver) {
            keepsItself = self
            connection = HTTP2ClientConnection(on: loop, to: place, tls: tls, resolver: resolver, delegate: self)
        }

        /// As many as the limit allows: one until the first token was accepted, as with Apple.
        private func fill() {
            while let connection, next < paths.count, connection.available > 0 {
                started[next] = .current()
                guard connection.submit(request, values: [paths[next]], body: bodies[next], tag: UInt64(next)) else {
                    return
                }
                next += 1
            }
        }

        private func finish(_ tag: UInt64, _ text: String) {
            outcomes[Int(tag)] = Demonstration.Outcome(text: text, took: .current() - started[Int(tag)])
            if outcomes.allSatisfy({ $0 != nil }) { connection?.closeGracefully() }
        }

        func http2Settings(streamLimit limit: Int) { fill() }

        func http2Answered(tag: UInt64, _ response: HTTP2Response) {
            let body = String(decoding: response.body, as: UTF8.self)
            let reason = body.split(separator: "\"").dropFirst(3).first.map(String.init) ?? ""
            finish(tag, response.status == 200 ? "200" : "\(response.status) \(reason)")
        }

        func http2Unanswered(tag: UInt64, _ failure: HTTP2StreamFailure) { finish(tag, "no answer: \(failure)") }

        func http2GoAway(_ goAway: HTTP2GoAway) {}

        func http2BatchEnded() { fill() }

        func http2Closed(_ closure: HTTP2Closure) {
            connection = nil
            keepsItself = nil
            done(outcomes.map { $0 ?? Demonstration.Outcome(text: "not sent: \(closure)", took: .zero) })
        }
    }
}
