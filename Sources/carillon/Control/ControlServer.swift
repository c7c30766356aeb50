import PushLoop
import PushTransport

/// The Unix socket in the data directory by which verbs talk to this Carillon: HTTP/1.1, answered in JSON.
///
/// Its file's mode, 0600, decides who may: the user that Carillon runs as, and root. Requests run as tasks, at most one
/// a connection, and connections are bounded.
final class ControlServer: Sendable {
    static let fileName = "control.sock"

    let socketPath: String
    private let lock: DataLock
    private let server: LoopBound<HTTP1Server>

    /// Room for a handful of people and scripts, not for a crowd.
    static var limits: HTTP1Limits {
        var limits = HTTP1Limits()
        limits.connections = 32
        limits.refusedConnections = 8
        // A batch of devices to register.
        limits.bodyBytes = 1024 * 1024
        limits.headerTime = .seconds(5)
        limits.bodyTime = .seconds(5)
        limits.idleTime = .seconds(10)
        limits.stallTime = .seconds(10)
        return limits
    }

    /// Listens. Whoever holds the lock may replace a socket file that a process left behind when it died.
    init(
        _ lock: DataLock, on loop: EventLoop, limits: HTTP1Limits = ControlServer.limits, routes: ControlRoutes
    ) async throws(Failure) {
        self.lock = lock
        let path = "\(lock.directory)/\(Self.fileName)"
        socketPath = path
        server = await loop.run {
            let server = HTTP1Server(on: loop, limits: limits) { request, responder in
                let responder = LoopBound(responder, on: loop)
                Task {
                    let answer = await routes.answer(request)
                    loop.executeUnlessStopped { Self.send(answer, responder.wrapped) }
                }
            }
            return LoopBound(server, on: loop)
        }
        do {
            try await server.with { (server) throws(HTTP1Error) in try server.listen(unixSocket: path) }
        } catch {
            await close()
            throw Failure(
                error.code == .inUse ? .tryAgain : .failed,
                "cannot open the control socket: \(error)"
                    + (error.code == .badAddress ? "; choose a data directory with a shorter path" : ""))
        }
    }

    private static func send(_ answer: ControlAnswer, _ responder: HTTP1Responder) {
        var headers: HTTP1Headers = ["Content-Type": "application/json", "Cache-Control": "no-store"]
        if let allow = answer.allow { headers.add("Allow", allow) }
        // Thrown if the client has gone.
        try? responder.respond(status: answer.status, headers: headers, body: answer.body)
    }

    /// Removes the socket, answers what was asked, and returns; what is left after `deadline` is cut.
    func stop(within deadline: Duration = .seconds(2)) async {
        await withCheckedContinuation { continuation in
            server.loop.execute { [server] in
                server.wrapped.drain(within: deadline) { continuation.resume() }
            }
        }
    }

    private func close() async {
        await withCheckedContinuation { continuation in
            server.loop.execute { [server] in server.wrapped.close { continuation.resume() } }
        }
    }

    /// For metrics and tests.
    var counts: HTTP1Server.Counts {
        get async { await server.with { $0.counts } }
    }
}
