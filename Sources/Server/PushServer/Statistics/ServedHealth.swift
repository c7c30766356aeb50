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
        pipelineMetrics.show(await pipeline.reading(), served: statuses)
        return registry.render()
    }
}

extension Pipeline {
    func readiness(of gateways: [ServedStatus]) -> Readiness {
        Readiness(gateways, obstacle: obstacle, warnings: troubles.warnings)
    }
}
