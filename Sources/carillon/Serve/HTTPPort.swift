import PushGateways
import PushLoop
import PushTransport

/// The port of `http.listen`. Requests run as tasks, at most one a connection, and connections are bounded.
final class HTTPPort: Sendable {
    /// Where it listens: with port 0 in the configuration, the one that was free.
    let place: HostPort
    let isSecure: Bool
    private let server: LoopBound<HTTP1Server>

    /// Scrapers and probes: no bodies to speak of.
    private static func limits(connections: Int) -> HTTP1Limits {
        var limits = HTTP1Limits()
        limits.connections = connections
        limits.refusedConnections = min(limits.refusedConnections, connections)
        limits.bodyBytes = 64 * 1024
        return limits
    }

    /// Listens. Reads the files of `tls` on the pool.
    init(
        _ http: Configuration.HTTP, at listen: HostPort, on loop: EventLoop, connections: Int, files: BlockingPool,
        answers: HealthAnswers
    ) async throws(Failure) {
        let tls = try await Self.context(http.tls, files)
        isSecure = tls != nil
        let server = await loop.run {
            let server = HTTP1Server(on: loop, limits: Self.limits(connections: connections), tls: tls) {
                request, responder in
                let responder = LoopBound(responder, on: loop)
                Task {
                    let answer = await answers.answer(request)
                    loop.executeUnlessStopped { Self.send(answer, responder.wrapped) }
                }
            }
            return LoopBound(server, on: loop)
        }
        self.server = server
        do {
            let port = try await server.with { (server) throws(HTTP1Error) in
                try server.listen(host: listen.host, port: listen.port)
            }
            place = HostPort(host: listen.host, port: port)
        } catch {
            await withCheckedContinuation { continuation in
                loop.execute { [server] in server.wrapped.close { continuation.resume() } }
            }
            throw Failure(.unavailable, "cannot open http.listen \(listen): \(error)")
        }
    }

    private static func send(_ answer: HealthAnswers.Answer, _ responder: HTTP1Responder) {
        var headers: HTTP1Headers = ["Content-Type": answer.type, "Cache-Control": "no-store"]
        if let allow = answer.allow { headers.add("Allow", allow) }
        // Thrown if the client has gone.
        try? responder.respond(status: answer.status, headers: headers, body: answer.body)
    }

    /// Connections accepted from now on are served with these files. Throws if they cannot be used: then with the old.
    func renew(_ tls: Configuration.HTTP.TLS, files: BlockingPool) async throws(Failure) {
        let context = try await Self.context(tls, files)
        await server.with { $0.tls = context }
    }

    func stop(within deadline: Duration = .seconds(2)) async {
        await withCheckedContinuation { continuation in
            server.loop.execute { [server] in
                server.wrapped.drain(within: deadline) { continuation.resume() }
            }
        }
    }

    private static func context(
        _ tls: Configuration.HTTP.TLS?, _ files: BlockingPool
    ) async throws(Failure) -> TLSContext? {
        guard let tls else { return nil }
        do {
            return try await files.run { try context(tls) }
        } catch {
            throw Failure(.configuration, "http.tls cannot be used: \(error)")
        }
    }

    /// Reads its files. Blocks.
    static func context(_ tls: Configuration.HTTP.TLS) throws -> TLSContext {
        let password = try CredentialFiles.password(in: tls.passwordFile)
        let isArchive = [".p12", ".pfx"].contains { tls.certificate.lowercased().hasSuffix($0) }
        let identity =
            tls.key == nil && isArchive
            ? try TLSIdentity(PKCS12(file: tls.certificate, password: password))
            : try TLSIdentity(
                certificates: .file(tls.certificate), key: .file(tls.key ?? tls.certificate), password: password)
        return try .server(TLSServerConfiguration(identity: identity, alpn: ["http/1.1"]))
    }
}
