package import PushConfiguration
package import PushLoop
package import PushModel
package import PushTransport

/// An HTTP/1.1 server that answers with the routes it is given: on the control socket, or on a TCP port.
///
/// The mode of the socket's file, 0600, decides who may connect to it: the user that Carillon runs as, and root. Each
/// connection has at most one request at a time, and the number of connections is bounded.
package final class APIServer: Sendable {
    /// The endpoint on which a server listens.
    package enum Endpoint: Sendable {
        /// A Unix socket, by which the verbs of the command line reach this Carillon. The caller holds the lock of its
        /// directory, so that a socket file which is there belongs to a process that has ended.
        case socket(path: String)
        /// A TCP port, with its name in the configuration for errors. A nil context is plain HTTP.
        case port(HostPort, setting: String, tls: TLSContext?)
    }

    /// The path of the socket, or the URL of the port. Port 0 is replaced by the port that was free.
    package let address: String
    private let server: LoopBound<HTTP1Server>

    /// Starts to listen.
    package init(
        at endpoint: Endpoint, on loop: EventLoop, limits: HTTP1Limits, table: EndpointTable, access: any RequestAccess,
        metrics: HTTPMetrics? = nil, refusals: RefusalCounts? = nil, journal: OperatorJournal? = nil
    ) async throws(StartError) {
        let tls: TLSContext? = if case .port(_, _, let tls) = endpoint { tls } else { nil }
        let server = await loop.run {
            let dispatcher = Dispatcher(
                table: table, access: access, loop: loop, metrics: metrics, refusals: refusals, journal: journal)
            let server = HTTP1Server(
                on: loop, limits: limits, tls: tls, writeRefusal: { dispatcher.refuse($0, method: $1) },
                handler: { dispatcher.handle($0, with: $1) })
            return LoopBound(server, on: loop)
        }
        self.server = server
        do {
            address = try await server.with { (server) throws(HTTP1Error) in try Self.listen(server, at: endpoint) }
        } catch {
            await withCheckedContinuation { continuation in
                loop.execute { server.wrapped.close { continuation.resume() } }
            }
            throw Self.fault(of: endpoint, error)
        }
    }

    private static func listen(_ server: HTTP1Server, at endpoint: Endpoint) throws(HTTP1Error) -> String {
        switch endpoint {
        case .socket(let path):
            try server.listen(unixSocket: path)
            return path
        case .port(let endpoint, _, let tls):
            let port = try server.listen(host: endpoint.host, port: endpoint.port)
            return "\(tls == nil ? "http" : "https")://\(HostPort(host: endpoint.host, port: port))"
        }
    }

    private static func fault(of endpoint: Endpoint, _ error: HTTP1Error) -> StartError {
        switch endpoint {
        case .socket:
            let advice = error.code == .badAddress ? "; choose a data directory with a shorter path" : ""
            return StartError(
                error.code == .inUse ? .tryAgain : .failed, "cannot open the control socket: \(error)\(advice)")
        case .port(let endpoint, let setting, _):
            return StartError(.unavailable, "cannot open \(setting) \(endpoint): \(error)")
        }
    }

    /// Ends the connections and streams of keys whose rights have ended. On the loop.
    package func closeConnections(of keys: [APIKeyID]) {
        let keys = Set(keys)
        server.wrapped.closeConnections { connection in
            (connection.context as? KeyedAccess.Mark).map { keys.contains($0.key) } ?? false
        }
    }

    /// Serves connections accepted from now on with `tls`.
    package func renew(_ tls: TLSContext) async {
        await server.with { $0.tls = tls }
    }

    /// Stops accepting connections, removes the socket, and answers the requests that have arrived. Connections that are
    /// still open after `deadline` are closed.
    package func stop(within deadline: Duration = .seconds(2)) async {
        await withCheckedContinuation { continuation in
            server.loop.execute { [server] in
                server.wrapped.drain(within: deadline) { continuation.resume() }
            }
        }
    }

    /// The counts of connections and requests, for metrics and tests.
    package var counts: HTTP1Server.Counts {
        get async { await server.with { $0.counts } }
    }
}

extension HTTP1Limits {
    /// The limits of the control socket, sufficient for a few users and scripts.
    package static var controlSocket: HTTP1Limits {
        var limits = HTTP1Limits()
        limits.connections = 32
        limits.refusedConnections = 8
        // A batch of devices to register.
        let standard = 1024 * 1024
        limits.bodyBytes = standard
        limits.bodyLimit = { RequestInput.isLines($0) ? PushMessages.maxLinesBytes : standard }
        limits.headerTime = .seconds(5)
        limits.bodyTime = .seconds(5)
        limits.idleTime = .seconds(10)
        limits.stallTime = .seconds(10)
        return limits
    }

    /// The limits of a port. Only a client with the secret of a key which may push sends a large body.
    ///
    /// - Parameters:
    ///   - connections: the maximum number of served connections.
    ///   - refused: the maximum number of further connections that are answered with 503.
    package static func port(connections: Int, refused: Int, access: KeyedAccess) -> HTTP1Limits {
        var limits = HTTP1Limits()
        limits.connections = connections
        limits.refusedConnections = refused
        let standard = limits.bodyBytes
        limits.bodyLimit = { head in
            RequestInput.isLines(head) && access.mayPush(head) ? PushMessages.maxLinesBytes : standard
        }
        return limits
    }
}
