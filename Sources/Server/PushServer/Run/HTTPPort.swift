import PushAPI
import PushLoop
import PushTransport

/// The server of `http.listen`, and the guard of its requests.
struct HTTPPort: Sendable {
    private let server: APIServer
    private let guardian: LoopBound<RequestGuard>

    var address: String { server.address }

    /// Opens the port; nil if it is off.
    static func open(
        _ endpoints: EndpointTable, refusals: RefusalCounts?, parts: ServerParts, on base: RunBase
    ) async throws -> HTTPPort? {
        let settings = base.configuration.http
        guard let listen = settings.listen else { return nil }
        let home = base.threads.home
        var tls: TLSContext?
        if let settings = settings.tls { tls = try await parts.certificate.read(settings, on: base.threads.files) }
        var guarding = RequestGuard.Settings(isTLS: tls != nil)
        guarding.policy.window = settings.signatureWindow
        let guardian = await RequestGuard.open(parts.keys, on: home, settings: guarding, log: base.log)
        let access = KeyedAccess(guardian, hosts: AllowedHosts(settings.hosts + [listen.host]))
        do {
            let server = try await APIServer(
                at: .port(listen, setting: "http.listen", tls: tls), on: home,
                limits: .port(connections: base.limits.http, refused: base.limits.httpRefused, access: access),
                table: endpoints, access: access,
                metrics: HTTPMetrics(endpoints.endpoints.map(\.label), in: parts.metrics), refusals: refusals,
                journal: parts.operators.journal)
            await guardian.with { guardian in
                guardian.whenEnded = { [weak server] keys in server?.closeConnections(of: keys) }
            }
            return HTTPPort(server: server, guardian: guardian)
        } catch {
            await guardian.with { $0.stop() }
            throw error
        }
    }

    /// Uses another certificate for further connections.
    func renew(_ tls: TLSContext) async { await server.renew(tls) }

    func stop() async {
        await server.stop()
        await guardian.with { $0.stop() }
    }
}
