import APNs
import PushAPI
import PushConfiguration
import PushGateways
import PushLogic
import PushLoop
import PushModel
import PushTime
import PushTransport

/// The gateways of all apps: it opens them, applies changes of the configuration and of credentials, and ends them.
///
/// An app whose credential is unusable has no gateway and does not affect others; the reload that finds a usable
/// credential opens its gateway. The actor is pinned to a loop. Its owner makes one change at a time.
actor ServedGateways {
    /// The objects from which gateways are made.
    struct Dependencies: Sendable {
        let loops: LoopGroup
        let tokens: ServiceTokens
        let resolver: NameResolver
        /// The pool in which files are read.
        let files: BlockingPool
        let metrics: MetricsRegistry
        let expiry: CredentialExpiry
        let serverCertificate: ServerCertificate
        let pipeline: Pipeline
        /// The directory of the spool files of the feedback services.
        let directory: String
        let log: Logger
    }

    private nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }
    let dependencies: Dependencies
    private let metrics: GatewayMetrics
    private let lookUps: SharedLookUps
    private(set) var apps: [AppID: ServedApp] = [:]
    let pauses: AppPauses
    private var leaving: [ObjectIdentifier: (gateway: Gateway, task: Task<Void, Never>)] = [:]
    /// The pollers that are ending, by app. The next poller of an app waits for them, because they use the same spool.
    private var retiring: [AppID: (number: UInt64, task: Task<Void, Never>)] = [:]
    private var retirements: UInt64 = 0
    /// Whether the drain has begun. A change that waits for files at that time must not open a gateway.
    private(set) var isEnding = false
    /// The numbers of connections that operators have set on any node, and when this node last changed them.
    var scales: [SharedScale]
    var scalesChangedAt = MonotonicTime(nanoseconds: .min)

    /// The time that a removed app has to send its remaining deliveries.
    private static let leaveWithin: Duration = .seconds(30)
    /// The maximum number of apps whose files are read at the same time; the pool has room for them.
    private static let loadsAtOnce = 16

    init(on loop: EventLoop, dependencies: Dependencies) {
        self.loop = loop
        self.dependencies = dependencies
        metrics = GatewayMetrics(in: dependencies.metrics) { dependencies.serverCertificate.notAfter }
        lookUps = SharedLookUps(dependencies.resolver)
        pauses = AppPauses(dependencies.pipeline.pausedAtOpen)
        scales = dependencies.pipeline.node?.scalesAtOpen ?? []
    }

    // MARK: Changes

    /// Opens, changes and removes gateways so that they match `wanted`. Credentials are read again in any case.
    ///
    /// - Parameter contexts: The TLS contexts of this load of the configuration.
    func serve(_ wanted: [Configuration.App], contexts: TLSContexts) async {
        let kept = Set(wanted.map(\.id))
        let gone = apps.keys.filter { !kept.contains($0) }
        for id in gone.sorted(by: { $0.name < $1.name }) { leave(id) }
        for (app, result) in await load(wanted, contexts: contexts) where !isEnding {
            switch result {
            case .success(let loaded): await use(loaded)
            case .failure(let fault): refuse(app, because: fault)
            }
        }
        dependencies.expiry.announceDue()
    }

    private func load(
        _ wanted: [Configuration.App], contexts: TLSContexts
    ) async -> [(Configuration.App, Result<LoadedApp, LoadFault>)] {
        var results: [(Configuration.App, Result<LoadedApp, LoadFault>)] = []
        for start in stride(from: 0, to: wanted.count, by: Self.loadsAtOnce) {
            // Stop reading files when the drain begins, so that slow files do not outlast the loops.
            if isEnding { break }
            let slice = wanted[start..<min(start + Self.loadsAtOnce, wanted.count)]
            let files = dependencies.files
            let tasks = slice.map { app in
                (
                    app,
                    Task { () -> Result<LoadedApp, LoadFault> in
                        do {
                            return .success(try await files.run { try LoadedApp(app, contexts: contexts) })
                        } catch {
                            return .failure(LoadFault(description: "\(error)"))
                        }
                    }
                )
            }
            for (app, task) in tasks { results.append((app, await task.value)) }
        }
        return results
    }

    private struct LoadFault: Error {
        let description: String
    }

    private func use(_ loaded: LoadedApp) async {
        let app = loaded.app
        let log = dependencies.log.with([.app: app.id.name])
        for warning in loaded.gateway.warnings { log.warning("\(warning)") }
        guard let served = apps[app.id] else { return open(loaded, connections: range(of: app), journal: nil) }
        // A range that an operator has set stays in force unless the range in the file has changed.
        let isRescaled = served.app.gateway.connections != app.gateway.connections
        if isRescaled { forgetScales(of: app.id) }
        guard let gateway = served.gateway, let old = served.loaded else {
            return open(
                loaded, connections: isRescaled ? app.gateway.connections : served.connections, journal: served.journal)
        }
        let status = await gateway.status()
        // The drain may have begun during the await.
        if isEnding { return }
        if status.nextTrial != nil, loaded.connectsLike(old) {
            // The cause may have been fixed at the push service.
            gateway.tryCredential()
            log.notice("the refused credential has not changed: the next delivery tries it at once")
        } else if status.isHalted || !loaded.connectsLike(old) {
            gateway.credentialChanged(
                connect: loaded.gateway.connect(
                    resolver: dependencies.resolver, permit: dependencies.pipeline.permit,
                    wallClock: dependencies.pipeline.wallClock),
                tokens: tokens(loaded, reportingTo: served.journal),
                endpoint: loaded.gateway.hostPort)
            dependencies.log.notice(
                "connection settings changed: new connections use them, old connections drain",
                [.fingerprint: loaded.gateway.credential.fingerprint])
        }
        if loaded.app.apns?.feedback != served.app.apns?.feedback || !loaded.connectsLike(old) {
            pollFeedback(loaded)
        }
        gateway.limit(deliveriesPerMinute: app.deliveriesPerMinute)
        gateway.pace(connectsPerMinute: loaded.gateway.connectsPerMinute, shrinkAfter: app.gateway.idle)
        apps[app.id]?.app = app
        apps[app.id]?.loaded = loaded
        apps[app.id]?.fault = nil
        if isRescaled { setConnections(app.gateway.connections, of: app.id) }
        watch(loaded, reportingTo: served.journal)
    }

    private func open(_ loaded: LoadedApp, connections: ClosedRange<Int>, journal known: GatewayJournal?) {
        let app = loaded.app
        let journal = known ?? makeJournal(app)
        if known != nil {
            dependencies.log.notice(
                "credential accepted", [.app: app.id.name, .event: "credential.rotated"])
            dependencies.pipeline.announce(EventDraft(.credentialRotated, app: app.id))
        }
        let own = dependencies.loops.next()
        var settings = loaded.gateway.settings(
            resolver: dependencies.resolver, permit: dependencies.pipeline.permit,
            wallClock: dependencies.pipeline.wallClock)
        if loaded.gateway.service.connector.lookUp == nil { settings.lookUp = lookUps.lookUp }
        settings.policy.minimum = connections.lowerBound
        settings.policy.maximum = connections.upperBound
        // The gateway's own loop comes first, so that the first connection needs no hop between loops.
        let others = dependencies.loops.loops.filter { $0 !== own }
        let gateway = Gateway(
            on: own, connectionLoops: [own] + others, settings: settings, client: dependencies.pipeline.client(journal),
            tokens: tokens(loaded, reportingTo: journal))
        apps[app.id] = ServedApp(
            app: app, loaded: loaded, gateway: gateway, fault: nil, connections: connections, journal: journal)
        if pauses.contains(app.id) { gateway.setPaused(true) }
        watch(loaded, reportingTo: journal)
        dependencies.pipeline.gatewayChanged(gateway, app: app.id)
        pollFeedback(loaded)
    }

    /// Replaces the app's poller with one for its configured feedback service, or with none.
    private func pollFeedback(_ loaded: LoadedApp) {
        let app = loaded.app
        if let old = apps[app.id]?.poller { retire(old, of: app.id) }
        apps[app.id]?.poller = nil
        guard let feedback = app.apns?.feedback else { return }
        var settings = FeedbackPoller.Settings(
            tls: loaded.gateway.tls, serverName: feedback.host, resolver: dependencies.resolver)
        settings.schedule.interval = feedback.interval
        let poller = FeedbackPoller(
            app: app.id, on: loop, to: HostPort(host: feedback.host, port: feedback.port), settings: settings,
            spool: FeedbackSpool(directory: dependencies.directory, app: app.id, pool: dependencies.files),
            sink: dependencies.pipeline.feedback, log: dependencies.log.with([.app: app.id.name]))
        apps[app.id]?.poller = poller
        // The previous poller may still use the spool.
        let last = retiring[app.id]?.task
        Task {
            await last?.value
            await poller.start()
        }
    }

    private func retire(_ poller: FeedbackPoller, of app: AppID) {
        let last = retiring[app]?.task
        retirements += 1
        let number = retirements
        let task = Task {
            await last?.value
            await poller.stop()
            if retiring[app]?.number == number { retiring[app] = nil }
        }
        retiring[app] = (number, task)
    }

    private func tokens(_ loaded: LoadedApp, reportingTo journal: GatewayJournal) -> TokenSource? {
        loaded.gateway.tokens(from: dependencies.tokens)?.observed { journal.metrics.tokenMinted($0) }
    }

    private func watch(_ loaded: LoadedApp, reportingTo journal: GatewayJournal) {
        let facts = loaded.gateway.credential
        journal.metrics.credentialChanged(facts)
        dependencies.expiry.watch(loaded.app.id, notAfter: facts.notAfter)
    }

    /// Reports that the app's files are unusable. The credential that was in force stays in force.
    private func refuse(_ app: Configuration.App, because fault: LoadFault) {
        let isServed = apps[app.id]?.gateway != nil
        dependencies.log.error(
            isServed
                ? "new credential unusable, the old one stays in force"
                : "credential unusable, nothing is sent for this app; fix it, then run 'carillon reload'",
            [.app: app.id.name, .event: "credential.failed", .reason: fault.description])
        var event = EventDraft(.credentialFailed, app: app.id)
        event.reason = "unusable"
        event.add("message", text: fault.description)
        dependencies.pipeline.announce(event)
        guard let served = apps[app.id] else {
            let journal = makeJournal(app)
            apps[app.id] = ServedApp(
                app: app, loaded: nil, gateway: nil, fault: fault.description, connections: app.gateway.connections,
                journal: journal)
            apps[app.id]?.failedAt = .current()
            return
        }
        apps[app.id]?.fault = fault.description
        apps[app.id]?.failedAt = .current()
        apps[app.id]?.app = app
        if served.app.gateway.connections != app.gateway.connections {
            forgetScales(of: app.id)
            setConnections(app.gateway.connections, of: app.id)
        }
    }

    private func makeJournal(_ app: Configuration.App) -> GatewayJournal {
        let metrics = AppMetrics(app.id, reasons: app.reasons, in: dependencies.metrics)
        dependencies.pipeline.outcomes.measure(app.id, into: metrics)
        return GatewayJournal(app.id, log: dependencies.log, metrics: metrics)
    }

    func setConnections(_ connections: ClosedRange<Int>, of id: AppID) {
        apps[id]?.connections = connections
        apps[id]?.gateway?.scale(minimum: connections.lowerBound, maximum: connections.upperBound)
    }

    private func leave(_ id: AppID) {
        guard let served = apps.removeValue(forKey: id) else { return }
        dependencies.expiry.forget(id)
        dependencies.log.notice(
            "app removed from the configuration, its gateway drains", [.app: id.name])
        // The metrics are removed at once, because an app of the same name may be added while this gateway drains.
        served.journal.metrics.remove()
        dependencies.pipeline.outcomes.measure(id, into: nil)
        dependencies.pipeline.gatewayChanged(nil, app: id)
        if let poller = served.poller { retire(poller, of: id) }
        guard let gateway = served.gateway else { return }
        let task = Task {
            await gateway.drain(within: Self.leaveWithin)
            leaving[ObjectIdentifier(gateway)] = nil
        }
        leaving[ObjectIdentifier(gateway)] = (gateway, task)
    }

    // MARK: Drain

    /// Ends all gateways. Returns when nothing is left to send, when nothing is in flight and nothing can be sent, or
    /// when the time is over.
    ///
    /// The ledger keeps what was not sent. A second call can only shorten the drain.
    ///
    /// - Returns: the number of deliveries that were unanswered when the time was over.
    @discardableResult
    func drain(within: Duration) async -> Int {
        isEnding = true
        for (app, served) in apps {
            if let poller = served.poller { retire(poller, of: app) }
            apps[app]?.poller = nil
        }
        let left = leaving.values.map(\.task)
        let gateways = apps.values.compactMap(\.gateway) + leaving.values.map(\.gateway)
        let tasks = gateways.map { gateway in Task { await gateway.drain(within: within, whenCutOff: true) } }
        var abandoned = 0
        for task in tasks { abandoned += await task.value }
        for task in left + retiring.values.map(\.task) { await task.value }
        return abandoned
    }

    // MARK: Status

    func statuses() async -> [ServedStatus] {
        var list: [ServedStatus] = []
        for served in apps.values.sorted(by: { $0.app.id.name < $1.app.id.name }) {
            list.append(await status(served))
        }
        return list
    }

    func status(_ served: ServedApp) async -> ServedStatus {
        ServedStatus(
            app: served.app, connections: served.connections, fault: served.fault,
            gateway: await served.gateway?.status(), pausedAt: pauses.since[served.app.id])
    }

    /// Updates the metrics that show the current state, and returns the statuses. Other metrics count events as they
    /// happen.
    func refreshMetrics() async -> [ServedStatus] {
        let statuses = await statuses()
        var rows: [GatewayMetrics.Row] = []
        for status in statuses {
            var credential = AppMetrics.Credential()
            if let served = apps[status.app.id] { credential = await expiry(of: served) }
            rows.append(GatewayMetrics.Row(status: status, credential: credential))
        }
        metrics.update(rows)
        return statuses
    }

    /// Returns the time at which the credential of an app expires, if that was announced in this run or an earlier one.
    func announcedExpiry(of app: AppID) async -> WallTime? { await dependencies.expiry.announcedExpiry(of: app) }
}

extension ServedGateways: GatewayControl {
    func gateways(of node: NodeID?) async throws -> [GatewayAnswer] {
        if node == nil, let served = dependencies.pipeline.node { return await allGateways(of: served) }
        guard let other = try other(node) else { return await ownGateways() }
        return try await other.ask(NodeQuestion(.gateways))
    }

    func gateway(_ app: AppID, on node: NodeID?) async throws -> GatewayAnswer? {
        if node == nil, let served = dependencies.pipeline.node { return await allGateways(of: served, app: app) }
        guard let other = try other(node) else { return await ownGateway(app) }
        return try await other.ask(NodeQuestion(.gateway, app: app))
    }

    func scale(
        _ app: AppID, to connections: ClosedRange<Int>, on node: NodeID?
    ) async throws -> GatewayAnswer? {
        if let other = try other(node) {
            return try await other.ask(NodeQuestion(.scale, app: app, connections: connections))
        }
        guard let served = apps[app] else { return nil }
        setConnections(try await share(connections, of: served.app, on: node), of: app)
        // The gateway applies the change on its own loop. Without this wait, the status could be read before that.
        await apps[app]?.gateway?.loop.run {}
        return await ownGateway(app)
    }

    func setPaused(_ isPaused: Bool, app: AppID) async throws -> GatewayAnswer? {
        guard apps[app] != nil else { return nil }
        let fault = await pauses.change(app, to: isPaused, at: .current()) { time in
            await dependencies.pipeline.setPaused(app, since: time)
        } apply: {
            apps[app]?.gateway?.setPaused(isPaused)
            dependencies.log.notice(
                isPaused
                    ? "app paused by an operator: nothing is sent until it is resumed" : "app resumed by an operator",
                [.app: app.name, .event: isPaused ? "app.paused" : "app.resumed"])
        }
        if let fault {
            throw Problem(
                .unavailable,
                detail: "the \(isPaused ? "pause" : "end of the pause") cannot be stored: \(fault); try again")
        }
        // The gateway applies the change on its own loop.
        await apps[app]?.gateway?.loop.run {}
        return await ownGateway(app)
    }
}

extension TokenSource {
    /// Returns a source that also passes each new token to `came`.
    fileprivate func observed(_ came: @escaping @Sendable (ProviderToken) -> Void) -> TokenSource {
        TokenSource(
            subscribe: { loop, take in
                subscribe(loop) { result in
                    if case .success(let token) = result { came(token) }
                    take(result)
                }
            }, refused: refused, mintedTooOften: mintedTooOften)
    }
}
