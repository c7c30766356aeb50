import PushAPI
import PushConfiguration
import PushGateways
import PushLoop
import PushModel
import PushStore
import PushTime
import PushTransport

/// The parts that do the work of a server: pipeline, gateways and what they share. Clients cannot reach them yet.
struct ServerParts: Sendable {
    let metrics = MetricsRegistry()
    let zones: SharedTimeZones
    let apps: AppCatalog
    let pipeline: Pipeline
    /// The API keys of programs that use HTTP.
    let keys: KeyRegistrar
    let certificate: ServerCertificate
    let gateways: ServedGateways
    let health: ServedHealth
    let receipts: ServedReceipts
    let webhooks: any WebhookService
    let operators: ServedOperators

    /// - Parameter contexts: The TLS contexts of this load of the configuration.
    init(on base: RunBase, contexts: TLSContexts) async throws {
        zones = SharedTimeZones(try await base.readZones())
        let pipeline = try await Self.pipeline(on: base, metrics: metrics, zones: zones)
        self.pipeline = pipeline
        apps = AppCatalog(
            base.configuration.catalog, families: base.configuration.families, others: PushServices.unconfigured,
            zones: zones, storesLocalTimes: pipeline.storesLocalTimes(of: base.configuration))
        base.services.add { _ in await pipeline.close() }
        operators = await ServedOperators.open(pipeline, on: base)
        keys = await KeyRegistrar.open(pipeline.registry.keys, sealing: pipeline.sealing, log: base.log)
        ProcessMetrics.register(in: metrics)
        Release.register(in: metrics)
        base.logs.register(in: metrics)
        if let node = pipeline.node { ClusterMetrics.register(node, in: metrics) }
        let expiry = await CredentialExpiry.open(
            directory: base.configuration.data, on: base.threads.home, files: base.threads.files, log: base.log
        ) { pipeline.announce($0) }
        base.services.add { _ in await expiry.stop() }
        certificate = ServerCertificate(watchedBy: expiry, log: base.log)
        gateways = Self.gateways(of: pipeline, certificate: certificate, expiry: expiry, metrics: metrics, on: base)
        base.forcedStop.gateways = gateways
        health = ServedHealth(
            gateways: gateways, pipeline: pipeline, pipelineMetrics: PipelineMetrics(in: metrics), registry: metrics,
            disk: DiskSpace(of: base.directory.path, files: base.threads.files, in: metrics))
        health.disk.refresh()
        receipts = try await base.threads.files.run {
            try ServedReceipts(
                base.configuration, contexts: contexts, on: base.threads.home,
                resolver: NameResolver(pool: base.threads.lookUps), log: base.log)
        }
        base.services.add { [receipts] _ in await receipts.stop() }
        webhooks = try await ServedWebhooks.open(pipeline, contexts: contexts, metrics: metrics, on: base)
        base.services.add { [webhooks] _ in await webhooks.stop() }
    }

    private static func pipeline(
        on base: RunBase, metrics: MetricsRegistry, zones: SharedTimeZones
    ) async throws -> Pipeline {
        try await Pipeline.open(
            base.configuration,
            on: Pipeline.Dependencies(
                loops: base.threads.loops, log: base.log, directory: base.directory.path, limits: base.limits,
                metrics: metrics, resolver: NameResolver(pool: base.threads.lookUps), zones: zones,
                halt: { [weak signals = base.signals] in signals?.halt() }))
    }

    private static func gateways(
        of pipeline: Pipeline, certificate: ServerCertificate, expiry: CredentialExpiry, metrics: MetricsRegistry,
        on base: RunBase
    ) -> ServedGateways {
        let threads = base.threads
        let gateways = ServedGateways(
            on: threads.home,
            dependencies: ServedGateways.Dependencies(
                loops: threads.loops,
                tokens: ServiceTokens(
                    on: threads.home, resolver: NameResolver(pool: threads.lookUps),
                    wallClock: pipeline.wallClock),
                resolver: NameResolver(pool: threads.lookUps), files: threads.files, metrics: metrics, expiry: expiry,
                serverCertificate: certificate, pipeline: pipeline, directory: base.directory.path, log: base.log))
        pipeline.node?.whenSharedRead { [weak gateways] shared in Task { await gateways?.follow(shared) } }
        return gateways
    }

    /// Applies the part of a reload that reads files: certificates, secrets and credentials. What cannot be used is
    /// logged, and the earlier one stays in force.
    func applyFiles(of configuration: Configuration, port: HTTPPort?, files: BlockingPool, log: Logger) async {
        let contexts = TLSContexts()
        do {
            if let tls = configuration.http.tls { await port?.renew(try await certificate.read(tls, on: files)) }
        } catch {
            log.error("\("\(error)")", [.event: "configuration.refused"])
        }
        do {
            try await files.run { try receipts.apply(configuration, contexts: contexts) }
        } catch {
            log.error("\("\(error)")", [.event: "configuration.refused"])
        }
        await webhooks.apply(configuration, contexts: contexts)
        for (name, fault) in webhooks.faults.sorted(by: { $0.key < $1.key }) {
            log.error("\("\(fault)")", [.event: "configuration.refused", .webhook: name])
        }
        await gateways.serve(configuration.apps, contexts: contexts)
    }
}
