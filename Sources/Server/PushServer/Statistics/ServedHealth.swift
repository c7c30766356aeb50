import PushAPI
import PushLoop

/// The state of the running server, for health checks and scrapers.
struct ServedHealth: HealthSource {
    let gateways: ServedGateways
    let pipeline: Pipeline
    let pipelineMetrics: PipelineMetrics
    let registry: MetricsRegistry
    let disk: DiskSpace

    func readiness() async -> Readiness { pipeline.readiness(of: await gateways.statuses()) }

    func metrics() async -> String {
        disk.refresh()
        let statuses = await gateways.refreshMetrics()
        await pipelineMetrics.refresh(pipeline, served: statuses)
        return registry.render()
    }
}

extension Readiness {
    init(_ served: [ServedStatus], obstacle: String? = nil, warnings: [String] = []) {
        self.init(
            served.map { status in
                App(
                    app: status.app.id.name, obstacle: status.obstacle,
                    code: status.connectionFault?.code.rawValue)
            }, obstacle: obstacle, warnings: warnings)
    }
}
