import PushGateways
import PushLogic
import PushLoop
import PushModel
import PushTransport

/// The gateways of all apps: opens them, changes them when the configuration or a credential changes, ends them.
///
/// An app whose credential cannot be used has no gateway and holds up no other; it comes up with the reload that finds
/// a good one. Pinned to a loop; one change at a time is its owner's business.
actor ServedGateways {
    /// What gateways are made with.
    struct Ground: Sendable {
        let loops: LoopGroup
        let tokens: ProviderTokens
        let resolver: NameResolver
        /// Where files are read.
        let files: BlockingPool
        let metrics: MetricsRegistry
        let expiry: CredentialExpiry
        let pipeline: Pipeline
        /// Where what the feedback services said waits until it is taken.
        let directory: String
        let log: Logger
    }

    private nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }
    private let ground: Ground
    private let metrics: GatewayMetrics
    private let lookUps: SharedLookUps
    private var apps: [AppID: ServedApp] = [:]
    private var leaving: [ObjectIdentifier: (gateway: Gateway, task: Task<Void, Never>)] = [:]
    /// Pollers that end, by app: one uses a spool at a time.
    private var retiring: [AppID: (number: UInt64, task: Task<Void, Never>)] = [:]
    private var retirements: UInt64 = 0
    /// A change that waits for files when the end begins opens nothing any more.
    private var isEnding = false

    /// How long an app that left the configuration may take to send what it has.
    private static let leaveWithin: Duration = .seconds(30)
    /// Files that are read at the same time, within what the pool takes.
    private static let loadsAtOnce = 16

    init(on loop: EventLoop, _ ground: Ground) {
        self.loop = loop
        self.ground = ground
        metrics = GatewayMetrics(in: ground.metrics)
        lookUps = SharedLookUps(ground.resolver)
    }

    // MARK: Changes

    /// Brings the apps to what they are to be. Credentials are read again in any case.
    func serve(_ wanted: [Configuration.App]) async {
        let kept = Set(wanted.map(\.id))
        let gone = apps.keys.filter { !kept.contains($0) }
        for id in gone.sorted(by: { $0.name < $1.name }) { leave(id) }
        for (app, result) in await load(wanted) where !isEnding {
            switch result {
            case .success(let loaded): await use(loaded)
            case .failure(let fault): refuse(app, fault)
            }
        }
        ground.expiry.look()
    }

    private func load(_ wanted: [Configuration.App]) async -> [(Configuration.App, Result<LoadedApp, LoadFault>)] {
        var results: [(Configuration.App, Result<LoadedApp, LoadFault>)] = []
        let contexts = TLSContexts()
        for start in stride(from: 0, to: wanted.count, by: Self.loadsAtOnce) {
            // A file that hangs, or hundreds of them, must not outlast the loops.
            if isEnding { break }
            let slice = wanted[start..<min(start + Self.loadsAtOnce, wanted.count)]
            let files = ground.files
            let tasks = slice.map { app in
                (
                    app,
                    Task { () -> Result<LoadedApp, LoadFault> in
                        do {
                            return .success(try await files.run { try LoadedApp(app, contexts: contexts) })
                        } catch {
                            return .failure(LoadFault(words: "\(error)"))
                        }
                    }
                )
            }
            for (app, task) in tasks { results.append((app, await task.value)) }
        }
        return results
    }

    private struct LoadFault: Error {
        let words: String
    }

    private func use(_ loaded: LoadedApp) async {
        let app = loaded.app
        let log = ground.log.with([.app: app.id.name])
        for warning in loaded.gateway.warnings { log.warning("\(warning)") }
        guard let served = apps[app.id] else { return open(loaded, connections: app.gateway.connections, nil) }
        // What an operator has scaled it to holds unless the file says something else than it did.
        let isRescaled = served.app.gateway.connections != app.gateway.connections
        guard let gateway = served.gateway, let old = served.loaded else {
            return open(
                loaded, connections: isRescaled ? app.gateway.connections : served.connections, served.journal)
        }
        // Who calls for another try of a credential that was refused has mended something elsewhere.
        let isHalted = if case .halted = await gateway.status().state { true } else { false }
        // Who asked may have waited until the end had begun.
        if isEnding { return }
        if isHalted || !loaded.connectsLike(old) {
            gateway.credentialChanged(
                connect: loaded.gateway.connect(resolver: ground.resolver), tokens: tokens(loaded, served.journal),
                place: loaded.gateway.place)
            log.notice(
                "new connections take what was read now; those there are send what they have, and end",
                [.fingerprint: loaded.gateway.credential.facts.fingerprint])
        }
        if loaded.app.gateway.feedback != served.app.gateway.feedback || !loaded.connectsLike(old) {
            pollFeedback(loaded)
        }
        gateway.pace(connectsPerMinute: loaded.gateway.connectsPerMinute, shrinkAfter: app.gateway.idle)
        apps[app.id]?.app = app
        apps[app.id]?.loaded = loaded
        apps[app.id]?.fault = nil
        if isRescaled { setConnections(app.gateway.connections, of: app.id) }
        watch(loaded, served.journal)
    }

    private func open(_ loaded: LoadedApp, connections: ClosedRange<Int>, _ known: GatewayJournal?) {
        let app = loaded.app
        let journal = known ?? GatewayJournal(app.id, ground.log, AppMetrics(app.id, in: ground.metrics))
        if known != nil {
            ground.log.notice(
                "its credential can be used now", [.app: app.id.name, .event: "credential.rotated"])
            ground.pipeline.announce(EventDraft(.credentialRotated, app: app.id))
        }
        let own = ground.loops.next()
        var settings = loaded.gateway.settings(resolver: ground.resolver)
        settings.lookUp = lookUps.lookUp
        settings.policy.minimum = connections.lowerBound
        settings.policy.maximum = connections.upperBound
        // Its own loop first: what one connection does then costs no hop.
        let others = ground.loops.loops.filter { $0 !== own }
        let gateway = Gateway(
            on: own, connectionLoops: [own] + others, settings: settings, client: ground.pipeline.client(journal),
            tokens: tokens(loaded, journal))
        apps[app.id] = ServedApp(
            app: app, loaded: loaded, gateway: gateway, fault: nil, connections: connections, journal: journal)
        watch(loaded, journal)
        ground.pipeline.appHas(gateway, app.id)
        pollFeedback(loaded)
    }

    /// Asks the app's feedback service from now on, if it has one, and no other.
    private func pollFeedback(_ loaded: LoadedApp) {
        let app = loaded.app
        if let old = apps[app.id]?.poller { retire(old, of: app.id) }
        apps[app.id]?.poller = nil
        guard let feedback = app.gateway.feedback else { return }
        var settings = FeedbackPoller.Settings(
            tls: loaded.gateway.tls, serverName: feedback.host, resolver: ground.resolver)
        settings.schedule.interval = feedback.interval
        let poller = FeedbackPoller(
            app: app.id, on: loop, to: HostPort(host: feedback.host, port: feedback.port), settings: settings,
            spool: FeedbackSpool(directory: ground.directory, app: app.id, pool: ground.files),
            sink: ground.pipeline.feedback, log: ground.log.with([.app: app.id.name]))
        apps[app.id]?.poller = poller
        // The one before it may still be at the spool.
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

    private func tokens(_ loaded: LoadedApp, _ journal: GatewayJournal) -> TokenSource? {
        loaded.gateway.tokens(from: ground.tokens)?.observed { journal.metrics.tokenCame($0) }
    }

    private func watch(_ loaded: LoadedApp, _ journal: GatewayJournal) {
        let facts = loaded.gateway.credential.facts
        journal.metrics.credentialIs(facts)
        ground.expiry.watch(loaded.app.id, notAfter: facts.notAfter)
    }

    /// What was in force before stays in force.
    private func refuse(_ app: Configuration.App, _ fault: LoadFault) {
        let isServed = apps[app.id]?.gateway != nil
        ground.log.error(
            isServed
                ? "its new credential cannot be used; the old one stays in force"
                : "its credential cannot be used: nothing goes out for this app until it is mended; then send SIGHUP",
            [.app: app.id.name, .event: "credential.failed", .reason: fault.words])
        var event = EventDraft(.credentialFailed, app: app.id)
        event.reason = "unusable"
        event.add("message", fault.words)
        ground.pipeline.announce(event)
        guard let served = apps[app.id] else {
            let journal = GatewayJournal(app.id, ground.log, AppMetrics(app.id, in: ground.metrics))
            apps[app.id] = ServedApp(
                app: app, loaded: nil, gateway: nil, fault: fault.words, connections: app.gateway.connections,
                journal: journal)
            return
        }
        apps[app.id]?.fault = fault.words
        apps[app.id]?.app = app
        if served.app.gateway.connections != app.gateway.connections {
            setConnections(app.gateway.connections, of: app.id)
        }
    }

    private func setConnections(_ connections: ClosedRange<Int>, of id: AppID) {
        apps[id]?.connections = connections
        apps[id]?.gateway?.scale(minimum: connections.lowerBound, maximum: connections.upperBound)
    }

    private func leave(_ id: AppID) {
        guard let served = apps.removeValue(forKey: id) else { return }
        ground.expiry.forget(id)
        ground.log.notice(
            "it is no longer in the configuration: its gateway sends what it has, and ends", [.app: id.name])
        // At once: it may come back while this one still drains, and counts under the same names.
        served.journal.metrics.remove()
        ground.pipeline.appHas(nil, id)
        if let poller = served.poller { retire(poller, of: id) }
        guard let gateway = served.gateway else { return }
        let task = Task {
            await gateway.drain(within: Self.leaveWithin)
            leaving[ObjectIdentifier(gateway)] = nil
        }
        leaving[ObjectIdentifier(gateway)] = (gateway, task)
    }

    // MARK: The end

    /// Returns when nothing is left to send, when nothing is on the wire and nothing can be sent, or when the time is
    /// over: what has not been sent is in the ledger. Called again it may only make it shorter.
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

    // MARK: What there is

    func statuses() async -> [ServedStatus] {
        var list: [ServedStatus] = []
        for served in apps.values.sorted(by: { $0.app.id.name < $1.app.id.name }) {
            list.append(await status(served))
        }
        return list
    }

    private func status(_ served: ServedApp) async -> ServedStatus {
        ServedStatus(
            app: served.app, connections: served.connections, fault: served.fault,
            gateway: await served.gateway?.status())
    }

    /// For the page of metrics: what is asked for now, where all else counts as it happens.
    func refreshMetrics() async -> [ServedStatus] {
        let statuses = await statuses()
        metrics.update(
            statuses.map { status in
                GatewayMetrics.Row(
                    status: status, credential: apps[status.app.id]?.journal.metrics.credential ?? .init())
            })
        return statuses
    }
}

extension ServedGateways: GatewayControl {
    func gateways() async -> [GatewayAnswer] { await statuses().map(GatewayAnswer.init) }

    func gateway(_ app: AppID) async -> GatewayAnswer? {
        guard let served = apps[app] else { return nil }
        return GatewayAnswer(await status(served))
    }

    func scale(_ app: AppID, to connections: ClosedRange<Int>) async throws -> GatewayAnswer? {
        guard apps[app] != nil else { return nil }
        setConnections(connections, of: app)
        // What was told to it waits in its loop, and a question from the same loop would overtake that.
        await apps[app]?.gateway?.loop.run {}
        return await gateway(app)
    }
}

extension TokenSource {
    /// The same, with an eye on what it brings.
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
