import PushAPI
import PushLoop

/// The two servers of the HTTP API: the control socket and, if it is on, the port.
struct APIServers: Sendable {
    let control: APIServer
    let http: HTTPPort?
    let statistics: ServedStatistics
    /// What the endpoints of the configuration ask. It answers when the start is complete.
    let configuration = ServedConfiguration()

    init(to parts: ServerParts, on base: RunBase) async throws {
        let streams = EventStreams()
        let refusals = base.configuration.http.listen.map { _ in RefusalCounts(in: parts.metrics) }
        let statistics = ServedStatistics(pipeline: parts.pipeline, gateways: parts.gateways, refusals: refusals)
        self.statistics = statistics
        statistics.answerOthers(of: parts.webhooks)
        let endpoints = ServedEndpoints(
            parts: parts, streams: streams, statistics: statistics, configuration: configuration
        ).table(legacy: base.configuration.http.legacyRegistration, gorush: base.configuration.doors.gorush)
        // The servers stop before the parts that their requests use are closed.
        let control = try await APIServer(
            at: .socket(path: "\(base.directory.path)/\(ControlSocket.fileName)"), on: base.threads.home,
            limits: .controlSocket, table: endpoints, access: ControlAccess(),
            journal: parts.operators.journal)
        self.control = control
        base.services.add { _ in await control.stop() }
        let http = try await HTTPPort.open(endpoints, refusals: refusals, parts: parts, on: base)
        self.http = http
        if let http { base.services.add { _ in await http.stop() } }
        base.services.add { _ in await streams.end() }
    }
}
