import PushAPI
import PushConfiguration
import PushConsole
import PushLoop

/// The endpoints of the HTTP API, each with the part of the server that answers it.
struct ServedEndpoints {
    let parts: ServerParts
    let streams: EventStreams
    let statistics: ServedStatistics
    let configuration: any ConfigurationControl

    private var pipeline: Pipeline { parts.pipeline }
    private var apps: AppCatalog { parts.apps }

    /// Returns the endpoints of both servers.
    func table(
        legacy: Configuration.HTTP.LegacyRegistration?, gorush: Configuration.Doors.Gorush?
    ) -> EndpointTable {
        let all =
            (legacy.map { [registration($0)] } ?? []) + (gorush.map { door($0) } ?? [])
            + HealthEndpoints.all(parts.health) + GatewayEndpoints.all(parts.gateways)
            + KeyEndpoints.all(parts.keys, apps: apps) + operation + messages + ofPipeline
            + WebhookEndpoints.all(parts.webhooks)
        return EndpointTable(
            all + [AnyEndpoint(GetOpenAPI(describing: all, version: Release.version))] + ConsoleEndpoints.all())
    }

    private func registration(_ settings: Configuration.HTTP.LegacyRegistration) -> AnyEndpoint {
        AnyEndpoint(
            RegisterLegacyDevice(settings.app, devices: pipeline.registry, apps: apps),
            as: RegisterLegacyDevice.operation.moved(to: settings.path))
    }

    /// What clients of gorush use. They find `/healthz` where it is anyway.
    private func door(_ settings: Configuration.Doors.Gorush) -> [AnyEndpoint] {
        let counts = GorushCounts()
        let push = GorushPush(
            settings, intake: pipeline.intake, events: pipeline.ledger, waiting: pipeline.waiting,
            identities: pipeline.ledger.identities, apps: apps, counts: counts,
            wallClock: pipeline.wallClock)
        return [
            AnyEndpoint(responding: push, as: GorushPush.operation.moved(to: settings.path)),
            AnyEndpoint(
                GorushStatus(ios: settings.ios, android: settings.android, source: statistics, counts: counts)),
        ]
    }

    /// What operators see and change.
    private var operation: [AnyEndpoint] {
        [
            AnyEndpoint(
                GetFindings(
                    source: ServedFindings(
                        pipeline: pipeline, gateways: parts.gateways, statistics: statistics,
                        configuration: configuration, webhooks: parts.webhooks))),
            AnyEndpoint(ListCredentials(source: parts.gateways)),
            AnyEndpoint(GetCluster(source: ServedCluster(node: pipeline.node))),
            AnyEndpoint(GetConfiguration(control: configuration)),
            AnyEndpoint(ReloadConfiguration(control: configuration)),
            // Each erasure searches all stored messages.
            AnyEndpoint(EraseUser(apps: apps) { [pipeline] in try await pipeline.erase($0) }, in: SearchQueue(1)),
            AnyEndpoint(ReleaseBrake(apps: apps) { [pipeline] in try await pipeline.releaseBrake(of: $0) }),
        ]
    }

    /// What producers and stores send.
    private var messages: [AnyEndpoint] {
        [
            AnyEndpoint(CancelMessage(apps: apps) { [pipeline] in await pipeline.cancel($0) }),
            AnyEndpoint(DropBacklog { [pipeline] in await pipeline.router.drop($0) }),
            AnyEndpoint(responding: PushMessages(intake: pipeline.intake)),
            AnyEndpoint(VerifyReceipt(receipts: parts.receipts)),
            AnyEndpoint(
                ReceiveStoreNotification(
                    receipts: parts.receipts, log: pipeline.receipts,
                    counts: StoreNotificationCounts(in: parts.metrics))),
        ]
    }

    private var ofPipeline: [AnyEndpoint] {
        PipelineEndpoints.all(
            on: pipeline.intake.loop, streams: streams, devices: pipeline.registry, events: pipeline.ledger,
            waiting: pipeline.waiting, statistics: statistics, identities: pipeline.ledger.identities, apps: apps,
            seen: pipeline.seen, registry: pipeline.registry, kept: parts.operators.file,
            obstacles: ServedObstacles(pipeline: pipeline, gateways: parts.gateways))
    }
}
