import APNs
import Glibc
import PushAPI
package import PushConfiguration
import PushConsole
import PushGateways
import PushLoop
import PushModel
import PushStore
import PushTransport

/// The root object of `carillon serve`: it creates, connects and ends all parts.
package final class RunningCarillon: Sendable {
    /// The way in which a run ended.
    package enum End: Sendable {
        case stopped
        /// A second signal asked to stop at once.
        case stoppedAtOnce
        /// The node left its cluster for good. The log has the reason.
        case halted
    }

    let source: ConfigurationSource
    let configuration: Locked<Configuration>
    let catalog: AppCatalog
    let logs: ServerLogs
    let pipeline: Pipeline
    /// The API keys of programs that use HTTP.
    let keys: KeyRegistrar
    let fileReloads: FileReloads
    /// A pool for the configuration file only, so that it can be read even if credentials are on a file system that
    /// hangs.
    let configurationFile: BlockingPool
    let reloadTurn = ReloadTurn()
    private let lock: DataLock
    private let services = ServiceStack()
    private let signals: ServeSignals
    private let gateways: ServedGateways
    private let control: APIServer
    private let http: APIServer?
    private let mark: RunMark
    let supervisor: Supervisor
    let health: ServedHealth
    /// One turn of each loop. If a loop hangs, its turn does not return.
    private let turns: [@Sendable () async -> Void]
    /// The task that reports that all loops turn. It ends just before the loops.
    private let beating = Locked<Task<Void, Never>?>(nil)
    /// The mark of the previous run, if that run did not end in order.
    private let remains: RunMark.Remains?
    /// The number of deliveries that were unanswered when the drain ended.
    private let unanswered = Locked(0)

    /// Starts everything. It does not wait for connections to push services.
    ///
    /// - Parameters:
    ///   - supervisor: receives the state of the server. A start that takes long extends its time.
    ///   - abandon: called on a loop three seconds after a second signal to stop, if the process still runs.
    /// - Throws: `StartError` for problems that an operator can correct. All parts that were started have ended by
    ///   then.
    package init(
        _ source: ConfigurationSource, parsed: Configuration.Parsed, supervisor: Supervisor,
        abandon: @escaping @Sendable () -> Void
    ) async throws {
        self.supervisor = supervisor
        let starting = Task { await supervisor.extendStart() }
        defer { starting.cancel() }
        let configuration = parsed.configuration
        self.source = source
        self.configuration = Locked(configuration)
        catalog = AppCatalog(configuration.catalog, others: PushServices.unconfigured)
        let logs = ServerLogs(configuration.log)
        let log = logs.log
        self.logs = logs
        let start = StartCheck(configuration)
        let descriptors = DescriptorLimit.raise()
        if let fault = StartCheck.limitFault(descriptors: descriptors, addressSpace: StartCheck.addressSpace) {
            throw fault
        }
        // The directory is checked before it is created and locked. The rest is checked when no other process can use
        // it.
        if let fault = start.directoryFault { throw fault }
        let lock = try DataLock(directory: configuration.data)
        self.lock = lock
        if let fault = StartError.joined(start.faults) { throw fault }
        mark = RunMark(directory: lock.directory)
        remains = mark.remains()
        for warning in parsed.warnings { log.warning("\(warning.description)") }
        for caution in start.cautions { log.warning("\(caution)") }

        let services = services
        let loops = LoopGroup()
        let home = loops.loops[0]
        let files = BlockingPool(name: "files", threadCount: 2, queueLimit: 64)
        let lookUps = BlockingPool(name: "resolve", threadCount: 2, queueLimit: 256)
        let configurationFile = BlockingPool(name: "configuration", threadCount: 1, queueLimit: 4)
        self.configurationFile = configurationFile
        services.add { _ in
            // A pool in which a file access or a look-up hangs is left running, so that the shutdown does not hang too.
            for pool in [files, configurationFile, lookUps] where pool.load == (0, 0) { await pool.shutDown() }
        }
        // A reload that hangs in a file system may use the loops later. Then they are not shut down; they end with the
        // process.
        let isReloading = Locked(false)
        services.add { _ in if !isReloading.withLock({ $0 }) { await loops.shutDown() } }
        turns = loops.loops.map { loop in { await loop.run {} } }
        services.add { [beating] _ in
            let task = beating.withLock { $0.take() }
            task?.cancel()
            await task?.value
        }

        let forcedStop = ForcedStop(log: log, home: home, abandon: abandon)
        let signals = ServeSignals { forcedStop.begin() }
        self.signals = signals
        let signalSource = await home.run {
            LoopBound(
                SignalSource(on: home, signals: [.hangUp, .terminate, .interrupt]) { signals.received($0) }, on: home)
        }
        services.add { _ in
            await signalSource.with { $0.cancel() }
            await forcedStop.end()
        }

        var isMarked = false
        do {
            let limits = ConnectionLimits(descriptors: descriptors, http: configuration.http.connections)
            if configuration.http.listen != nil {
                limits.reportHTTP(wanted: configuration.http.connections, descriptors: descriptors, to: log)
            }
            let metrics = MetricsRegistry()
            let pipeline = try await Pipeline(
                configuration,
                on: Pipeline.Dependencies(
                    loops: loops, log: log, directory: lock.directory, limits: limits, metrics: metrics,
                    resolver: NameResolver(pool: lookUps), halt: { [weak signals] in signals?.halt() }))
            self.pipeline = pipeline
            services.add { _ in await pipeline.close() }
            let keys = await KeyRegistrar.open(pipeline.registry.keys, sealing: pipeline.sealing, log: log)
            self.keys = keys

            ProcessMetrics.register(in: metrics)
            Release.register(in: metrics)
            logs.register(in: metrics)
            if let node = pipeline.node { ClusterMetrics.register(node, in: metrics) }
            let expiry = await CredentialExpiry.open(directory: configuration.data, on: home, files: files, log: log) {
                pipeline.announce($0)
            }
            let serverCertificate = ServerCertificate(watchedBy: expiry, log: log)
            let gateways = ServedGateways(
                on: home,
                dependencies: ServedGateways.Dependencies(
                    loops: loops,
                    tokens: ProviderTokens(on: home, wallClock: { [clock = pipeline.clock] in clock.now }),
                    resolver: NameResolver(pool: lookUps),
                    files: files, metrics: metrics, expiry: expiry, serverCertificate: serverCertificate,
                    pipeline: pipeline, directory: lock.directory, log: log))
            self.gateways = gateways
            forcedStop.gateways = gateways
            pipeline.node?.whenSharedRead { [weak gateways] shared in Task { await gateways?.follow(shared) } }

            // The control server stops before the parts that its requests use are closed.
            let health = ServedHealth(
                gateways: gateways, pipeline: pipeline, pipelineMetrics: PipelineMetrics(in: metrics),
                registry: metrics, disk: DiskSpace(of: lock.directory, files: files, in: metrics))
            self.health = health
            health.disk.refresh()
            let receipts = try await files.run { [log] in
                try ServedReceipts(configuration, on: home, resolver: NameResolver(pool: lookUps), log: log)
            }
            services.add { _ in await receipts.stop() }
            let streams = EventStreams()
            let served = ServedConfiguration()
            let refusals = configuration.http.listen.map { _ in RefusalCounts(in: metrics) }
            let statistics = ServedStatistics(pipeline: pipeline, gateways: gateways, refusals: refusals)
            statistics.answerOthers()
            let endpoints = Self.endpoints(
                pipeline, statistics: statistics, gateways: gateways, health: health, streams: streams, keys: keys,
                refusals: refusals,
                receipts: receipts, notifications: StoreNotificationCounts(in: metrics),
                apps: catalog, configuration: self.configuration, control: served)
            let control = try await APIServer(
                at: .socket(path: "\(lock.directory)/\(ControlSocket.fileName)"), on: home, limits: .controlSocket,
                table: endpoints, door: ControlDoor())
            self.control = control
            services.add { _ in await control.stop() }
            let http = try await Self.http(
                configuration.http, on: home, certificate: serverCertificate, files: files, connections: limits,
                endpoints: endpoints, metrics: HTTPMetrics(endpoints.endpoints.map(\.label), in: metrics),
                refusals: refusals, keys: keys,
                log: log)
            self.http = http?.server
            if let http {
                services.add { _ in
                    await http.server.stop()
                    await http.guardian.with { $0.stop() }
                }
            }
            services.add { _ in await streams.end() }
            services.add { _ in await expiry.stop() }

            let fileReloads = FileReloads { [reloads = logs.reloads] configuration, changes in
                if let http = http?.server, let tls = configuration.http.tls {
                    do {
                        await http.renew(try await serverCertificate.read(tls, on: files))
                    } catch {
                        reloads.error("\("\(error)")", [.event: "configuration.refused"])
                    }
                }
                do {
                    try await files.run { try receipts.apply(configuration) }
                } catch {
                    reloads.error("\("\(error)")", [.event: "configuration.refused"])
                }
                await gateways.serve(configuration.apps)
                reloads.notice("reloaded", [.event: "configuration.reloaded", .count: changes])
            }
            self.fileReloads = fileReloads
            services.add { _ in
                let isIdle = await fileReloads.stop(within: Self.reloadEndsWithin)
                isReloading.withLock { $0 = !isIdle }
            }
            let unanswered = unanswered
            services.add { deadline in
                let count = await gateways.drain(within: deadline)
                unanswered.withLock { $0 = count }
            }
            // The mark exists before the first delivery can leave. Its number follows when there are connections.
            try await files.run { [mark] in mark.write(maxInFlight: nil) }
            isMarked = true
            await gateways.serve(configuration.apps)

            let marking = Task { [mark] in await InFlightMark(mark: mark, gateways: gateways, files: files).keep() }
            let freeing = Task { await Self.releaseMemory(on: lookUps) }
            let recording = Task { await statistics.keepHistory() }
            services.add { _ in
                for task in [marking, freeing, recording] { task.cancel() }
                for task in [marking, freeing, recording] { await task.value }
            }
            try await pipeline.openIntake()
            pipeline.node?.announce(router: pipeline.endpoints?.intake?.router, http: http?.server.address)
            services.add { await pipeline.stopTakingIn(within: min($0, .seconds(5))) }
            served.started(self)
        } catch {
            await services.end(within: .zero)
            if isMarked { mark.abandon(unanswered: unanswered.withLock { $0 }, previous: remains) }
            throw (error as? StoreError).map { StartError($0) } ?? error
        }
    }

    /// The maximum time that the shutdown waits for a reload which reads files.
    private static let reloadEndsWithin: Duration = .seconds(2)

    /// Returns the endpoints of both servers.
    private static func endpoints(
        _ pipeline: Pipeline, statistics: ServedStatistics, gateways: ServedGateways, health: ServedHealth,
        streams: EventStreams,
        keys: KeyRegistrar, refusals: RefusalCounts?, receipts: ServedReceipts, notifications: StoreNotificationCounts,
        apps: AppCatalog, configuration: Locked<Configuration>, control: any ConfigurationControl
    ) -> EndpointTable {
        let legacy = configuration.withLock { $0.http.legacyRegistration }.map { settings in
            AnyEndpoint(
                RegisterLegacyDevice(settings.app, devices: pipeline.registry, apps: apps),
                as: RegisterLegacyDevice.operation.moved(to: settings.path))
        }
        let all =
            (legacy.map { [$0] } ?? []) + HealthEndpoints.all(health) + GatewayEndpoints.all(gateways)
            + KeyEndpoints.all(keys, apps: apps)
            + [
                AnyEndpoint(ListCredentials(source: gateways)),
                AnyEndpoint(GetCluster(source: ServedCluster(node: pipeline.node))),
                AnyEndpoint(GetConfiguration(control: control)), AnyEndpoint(ReloadConfiguration(control: control)),
                AnyEndpoint(
                    ReleaseBrake(apps: apps) {
                        try await pipeline.releaseBrake(of: $0)
                    }),
                AnyEndpoint(CancelMessage { await pipeline.cancel($0) }),
                AnyEndpoint(DropBacklog { await pipeline.router.drop($0) }),
                AnyEndpoint(responding: PushMessages(intake: pipeline.intake)),
                AnyEndpoint(VerifyReceipt(receipts: receipts)),
                AnyEndpoint(
                    ReceiveStoreNotification(receipts: receipts, log: pipeline.receipts, counts: notifications)),
            ]
            + PipelineEndpoints.all(
                on: pipeline.intake.loop, streams: streams, devices: pipeline.registry, events: pipeline.ledger,
                waiting: pipeline.waiting,
                statistics: statistics,
                identities: pipeline.ledger.identities, apps: apps, seen: pipeline.seen, registry: pipeline.registry,
                obstacles: ServedObstacles(pipeline: pipeline, gateways: gateways))
        return EndpointTable(
            all + [AnyEndpoint(now: GetOpenAPI(describing: all, version: Release.version))] + ConsoleEndpoints.all())
    }

    /// The server of the port, and the guard of its door.
    private struct Port {
        let server: APIServer
        let guardian: LoopBound<RequestGuard>
    }

    private static func http(
        _ settings: Configuration.HTTP, on loop: EventLoop, certificate: ServerCertificate,
        files: BlockingPool, connections: ConnectionLimits,
        endpoints: EndpointTable, metrics: HTTPMetrics, refusals: RefusalCounts?,
        keys: KeyRegistrar, log: Logger
    ) async throws -> Port? {
        guard let listen = settings.listen else { return nil }
        var tls: TLSContext?
        if let settings = settings.tls { tls = try await certificate.read(settings, on: files) }
        var guarding = RequestGuard.Settings(isTLS: tls != nil)
        guarding.policy.window = settings.signatureWindow
        let guardian = await RequestGuard.open(keys, on: loop, settings: guarding, log: log)
        let door = GuardedDoor(guardian, hosts: AllowedHosts(settings.hosts + [listen.host]))
        do {
            let server = try await APIServer(
                at: .port(listen, setting: "http.listen", tls: tls), on: loop,
                limits: .port(connections: connections.http, refused: connections.httpRefused, door: door),
                table: endpoints, door: door, metrics: metrics, refusals: refusals)
            await guardian.with { guardian in
                guardian.whenEnded = { [weak server] keys in server?.closeConnections(of: keys) }
            }
            return Port(server: server, guardian: guardian)
        } catch {
            await guardian.with { $0.stop() }
            throw error
        }
    }

    /// Returns free memory to the system twice a minute, until the task is cancelled.
    private static func releaseMemory(on pool: BlockingPool) async {
        while !Task.isCancelled {
            try? await Task.sleep(for: .seconds(30))
            // It blocks, so it must not run on a loop.
            try? await pool.run { FreeMemory.giveBack() }
        }
    }

    /// Returns the endpoints and apps that are served.
    package func served() async -> Served {
        Served(
            data: lock.directory, control: control.address, http: http?.address, endpoints: pipeline.endpoints,
            apps: await gateways.statuses())
    }

    /// Logs the start: the endpoints, and the messages that were recovered.
    package func logStart(_ served: Served) {
        let log = logs.log
        log.notice(
            "started",
            [
                .event: "carillon.started", .version: Release.version, .data: served.data, .apps: served.apps.count,
                .router: served.router ?? "off", .pull: served.pull ?? "off", .publish: served.publish ?? "off",
                .replay: served.replay ?? "off", .http: served.http ?? "off",
            ])
        let (waiting, scheduled) = (pipeline.recovered.waiting, pipeline.recovered.scheduled)
        guard let sentence = ResumeDescription(waiting: waiting, scheduled: scheduled, remains: remains).sentence else {
            return
        }
        guard let remains else {
            return log.notice("\(sentence)", [.event: "carillon.resumed", .waiting: waiting, .scheduled: scheduled])
        }
        var fields: LogFields = [.event: "carillon.recovered", .waiting: waiting, .scheduled: scheduled]
        if let most = remains.maxInFlight { fields.append(most, for: .maximum) }
        log.warning("\(sentence)", fields)
    }

    // MARK: Run and stop

    /// Serves until a signal asks to stop, then waits at most `deadline` for deliveries in flight.
    package func run(drainingWithin deadline: Duration) async -> End {
        supervisor.ready(status: await health.readiness().sentence)
        beating.withLock { task in
            task = Task { [supervisor, health, turns] in
                await supervisor.beat(turns) { await health.readiness().sentence }
            }
        }
        while await signals.next() == .reload { await reload() }
        supervisor.stopping(drainingWithin: deadline)
        let log = logs.log
        log.notice("draining: waiting at most this long for deliveries in flight", [.duration: deadline])
        let begun = MonotonicTime.current()
        await services.end(within: deadline)
        let (unanswered, isAtOnce) = (unanswered.withLock { $0 }, signals.hasInsisted)
        mark.end(unanswered: unanswered)
        log.notice(
            "\(Self.sentence(unanswered: unanswered, isAtOnce: isAtOnce))",
            [
                .event: "carillon.drained", .duration: MonotonicTime.current() - begun,
                .waiting: pipeline.left.waiting, .scheduled: pipeline.left.scheduled, .unanswered: unanswered,
            ])
        log.notice("stopped", [.event: "carillon.stopped"])
        logs.flush()
        if isAtOnce { return .stoppedAtOnce }
        return signals.hasHalted ? .halted : .stopped
    }

    private static func sentence(unanswered: Int, isAtOnce: Bool) -> String {
        let left = "\(ResumeDescription.deliveries(unanswered)) \(unanswered == 1 ? "is" : "are") unanswered"
        if isAtOnce { return "drain cut short by a second signal" + (unanswered == 0 ? "" : ": \(left)") }
        return unanswered == 0 ? "drained" : "drain timed out: \(left)"
    }
}

extension StartError {
    fileprivate init(_ error: StoreError) {
        self.init(error.code == .cannotOpen ? .notPermitted : .failed, error.description)
    }
}
