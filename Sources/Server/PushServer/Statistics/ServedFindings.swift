import PushAPI
import PushModel

/// What the running server knows about itself, for `GET /v1/findings`.
struct ServedFindings: FindingSource {
    let pipeline: Pipeline
    let gateways: ServedGateways
    let statistics: ServedStatistics
    let configuration: any ConfigurationControl
    let webhooks: any WebhookService

    func facts() async throws -> RunningFacts {
        var facts = RunningFacts(try await statistics.snapshot(of: nil, hasHistory: false))
        facts.gateways = try await gateways.gateways(of: nil)
        facts.credentials = await gateways.credentials()
        let settings = await configuration.configuration()
        (facts.file, facts.differences) = (settings?.file, settings?.differences ?? [])
        facts.warnings = Set(pipeline.troubles.warnings)
        for status in await gateways.statuses() {
            guard let gateway = status.gateway else { continue }
            if gateway.isLetAlone { facts.openBreakers.insert(status.app.id.name) }
            if !gateway.failing.isEmpty { facts.failing[status.app.id.name] = gateway.failing }
        }
        for app in facts.statistics.apps.compactMap({ AppID($0.app) }) {
            facts.unaddressedActivities[app.name] = pipeline.ledger.activityWaits.load(of: app).count
        }
        facts.losses.events = pipeline.ledger.latest.droppedEvents
        facts.losses.published = await pipeline.bus.status.dropped
        facts.losses.acks = await pipeline.intake.counts.droppedAcks
        facts.webhooks = await webhooks.webhooks()
        facts.webhookFaults = webhooks.faults.mapValues(\.description)
        facts.lastMinute = statistics.lastMinute
        return facts
    }
}
