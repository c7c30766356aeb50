import Glibc
import PushGateways
import PushLogic
import PushLoop
import PushModel
import PushStore
import PushTransport

/// The root: everything that `carillon serve` runs is made and put together here, and taken down here.
final class RunningCarillon: Sendable {
    private let source: ConfigurationSource
    private let configuration: Locked<Configuration>
    private let output: LogOutput
    private let log: Logger
    /// Without a limit: what was asked for with SIGHUP is told whole.
    private let reloadOutput: LogOutput
    private let lock: DataLock
    private let loops: LoopGroup
    private let home: EventLoop
    private let files: BlockingPool
    /// For the configuration alone: credentials on a file system that hangs must not keep it from being read.
    private let configurationFile: BlockingPool
    private let lookUps: BlockingPool
    private let signals: ServeSignals
    private let signalSource: LoopBound<SignalSource>
    /// Ends what is on its way at once, for whoever insists.
    private let insistence: Locked<Task<Void, Never>?>
    private let expiry: CredentialExpiry
    private let pipeline: Pipeline
    private let gateways: ServedGateways
    private let control: ControlServer
    private let http: HTTPPort?
    private let fileReloads: FileReloads
    private let mark: RunMark
    /// The mark of the previous run, if it did not end in order.
    private let remains: RunMark.Remains?

    /// Everything is open when it returns; connections come up in their own time.
    init(_ source: ConfigurationSource, _ parsed: Configuration.Parsed) async throws {
        let configuration = parsed.configuration
        self.source = source
        self.configuration = Locked(configuration)
        let output = LogOutput(format: configuration.log.format.forLog, level: configuration.log.level)
        let log = Logger("serve", to: output)
        (self.output, self.log) = (output, log)
        reloadOutput = LogOutput(format: configuration.log.format.forLog, level: configuration.log.level, limit: nil)
        let start = StartCheck(configuration)
        // Before the directory is made, and locked; the rest once nobody else runs on it.
        if let fault = start.directoryFault { throw fault }
        let lock = try DataLock(directory: configuration.data)
        self.lock = lock
        if let failure = StartCheck.failure(of: start.faults) { throw failure }
        mark = RunMark(directory: lock.directory)
        remains = mark.remains()
        for warning in parsed.warnings { log.warning("\(warning.description)") }
        for caution in start.cautions { log.warning("\(caution)") }

        let loops = LoopGroup()
        let home = loops.loops[0]
        let files = BlockingPool(name: "files", threadCount: 2, queueLimit: 64)
        let lookUps = BlockingPool(name: "resolve", threadCount: 2, queueLimit: 256)
        (self.loops, self.home, self.files, self.lookUps) = (loops, home, files, lookUps)
        let configurationFile = BlockingPool(name: "configuration", threadCount: 1, queueLimit: 4)
        self.configurationFile = configurationFile
        let limits = ConnectionLimits(descriptors: DescriptorLimit.raise())
        let metrics = MetricsRegistry()
        ProcessMetrics.register(in: metrics)

        let record = ExpiryRecord(directory: configuration.data)
        var said: [ExpiryWatch.Said] = []
        do {
            said = try await files.run { try record.read() }
        } catch {
            log.warning(
                "cannot read which expiries were announced; they are announced again",
                [.file: record.path, .error: "\(error)"])
        }
        let pipeline: Pipeline
        do {
            pipeline = try await Pipeline(
                configuration,
                on: Pipeline.Ground(loops: loops, log: log, directory: lock.directory, limits: limits))
        } catch {
            await loops.shutDown()
            await files.shutDown()
            await configurationFile.shutDown()
            throw (error as? StoreError).map { Failure($0.code.exitCode, $0.description) } ?? error
        }
        self.pipeline = pipeline
        let expiry = CredentialExpiry(on: home, said: said, record: record, files: files, log: log) {
            pipeline.announce($0)
        }
        let gateways = ServedGateways(
            on: home,
            ServedGateways.Ground(
                loops: loops, tokens: ProviderTokens(on: home),
                resolver: NameResolver(pool: lookUps),
                files: files, metrics: metrics, expiry: expiry, pipeline: pipeline, directory: lock.directory,
                log: log))
        (self.expiry, self.gateways) = (expiry, gateways)

        let insistence = Locked<Task<Void, Never>?>(nil)
        self.insistence = insistence
        let signals = ServeSignals {
            log.notice("stopping at once: what is on its way is given up")
            insistence.withLock { $0 = Task { await gateways.drain(within: .zero) } }
            // Whatever else may hold it up.
            home.executeUnlessStopped { home.schedule(after: .seconds(3)) { _exit(ExitCode.failed.rawValue) } }
        }
        self.signals = signals
        signalSource = await home.run {
            LoopBound(SignalSource(on: home, [.hangUp, .terminate, .interrupt]) { signals.came($0) }, on: home)
        }
        do {
            let statistics = ServedStatistics(pipeline: pipeline, gateways: gateways)
            let apps: @Sendable () async -> [AppID] = { await gateways.statuses().map(\.app.id) }
            let control = try await ControlServer(
                lock, on: home,
                routes: ControlRoutes(
                    GatewayRoutes.all(gateways) + BacklogRoutes.all { await pipeline.router.drop($0) }
                        + PipelineRoutes.all(
                            devices: pipeline.registry, events: pipeline.ledger, waiting: pipeline.waiting,
                            statistics: statistics, identities: pipeline.ledger.identities, apps: apps)))
            self.control = control
            do {
                http =
                    if let listen = configuration.http.listen {
                        try await HTTPPort(
                            configuration.http, at: listen, on: home, connections: limits.http, files: files,
                            answers: HealthAnswers(
                                gateways: gateways, pipeline: pipeline,
                                pipelineMetrics: PipelineMetrics(in: metrics), metrics: metrics))
                    } else {
                        nil
                    }
            } catch {
                await control.stop(within: .zero)
                throw error
            }
            fileReloads = FileReloads { [http, reloadOutput] configuration, changes in
                let log = Logger("serve", to: reloadOutput)
                if let http, let tls = configuration.http.tls {
                    do throws(Failure) {
                        try await http.renew(tls, files: files)
                    } catch {
                        log.error("\(error.description)", [.event: "configuration.refused"])
                    }
                }
                await gateways.serve(configuration.apps)
                log.notice("reloaded", [.event: "configuration.reloaded", .count: changes])
            }
        } catch {
            await home.run { [signalSource] in signalSource.wrapped.cancel() }
            await pipeline.close()
            await loops.shutDown()
            await files.shutDown()
            await configurationFile.shutDown()
            throw error
        }
        await gateways.serve(configuration.apps)
        do {
            try await pipeline.takeIn()
        } catch {
            await end(within: .zero)
            throw error
        }
    }

    func served() async -> Served {
        Served(
            data: lock.directory, control: control.socketPath, http: http, places: pipeline.places,
            apps: await gateways.statuses())
    }

    /// Logs the start: the endpoints, and the messages that were recovered.
    func logStart(_ served: Served) {
        log.notice(
            "started",
            [
                .event: "carillon.started", .version: Carillon.version, .data: served.data, .apps: served.apps.count,
                .router: served.router ?? "off", .pull: served.pull ?? "off", .publish: served.publish ?? "off",
                .replay: served.replay ?? "off", .http: served.http ?? "off",
            ])
        let (waiting, scheduled) = (pipeline.recovered.waiting, pipeline.recovered.scheduled)
        guard let sentence = ResumeWords(waiting: waiting, scheduled: scheduled, remains: remains).sentence else {
            return
        }
        guard let remains else {
            return log.notice("\(sentence)", [.event: "carillon.resumed", .waiting: waiting, .scheduled: scheduled])
        }
        var fields: LogFields = [.event: "carillon.recovered", .waiting: waiting, .scheduled: scheduled]
        if let most = remains.mostInFlight { fields.append(.maximum, most) }
        log.warning("\(sentence)", fields)
    }

    /// Until it is told to stop; 0 unless it was told to stop at once.
    func run(drainingWithin deadline: Duration) async -> ExitCode {
        let marking = Task { await keepMark() }
        let freeing = Task { await giveBackMemory() }
        while await signals.next() == .reload { await reload() }
        log.notice("draining: waiting at most this long for deliveries in flight", [.duration: deadline])
        freeing.cancel()
        marking.cancel()
        let begun = MonotonicTime.current()
        let ending = await end(within: deadline, awaiting: [freeing, marking])
        if ending.unanswered == 0 {
            mark.remove()
        } else {
            mark.write(mostInFlight: ending.unanswered, wasStopped: true)
        }
        log.notice(
            "\(ending.sentence)",
            [
                .event: "carillon.drained", .duration: MonotonicTime.current() - begun,
                .waiting: pipeline.left.waiting, .scheduled: pipeline.left.scheduled, .unanswered: ending.unanswered,
            ])
        log.notice("stopped", [.event: "carillon.stopped"])
        output.flushSuppressed()
        return ending.hasInsisted ? .failed : .done
    }

    /// Twice a minute, as long as it runs.
    private func giveBackMemory() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: .seconds(30))
            // Not on a loop: it blocks.
            try? await lookUps.run { FreeMemory.giveBack() }
        }
    }

    /// Every few seconds, as long as it runs: how much could be with the push services.
    private func keepMark() async {
        var last = 0
        var written: Int?
        repeat {
            let limit = await gateways.statuses().reduce(0) { sum, served in
                (served.gateway?.connections ?? []).reduce(sum) { $0 + Self.mostUnanswered($1) }
            }
            // A connection that was there a moment ago counts: what it had may be unanswered still.
            let most = max(last, limit)
            last = limit
            if most != written, (try? await files.run { [mark] in mark.write(mostInFlight: most) }) != nil {
                written = most
            }
            try? await Task.sleep(for: Self.lookInterval)
        } while !Task.isCancelled
    }

    /// The assumed stream limit of a connection that has not announced one.
    private static let usualStreams = 1000

    /// The streams that a connection has, or may have by the time of the next look: the first limit is low, and soon
    /// followed by another.
    private static func mostUnanswered(_ connection: ConnectionStatus) -> Int {
        if connection.state == .closed { return 0 }
        let limit = connection.streamLimit ?? usualStreams
        return connection.age < lookInterval * 2 ? max(limit, usualStreams) : limit
    }

    private static let lookInterval: Duration = .seconds(5)

    private struct Ending {
        /// Somebody did not want to wait.
        let hasInsisted: Bool
        /// Deliveries that were on the wire when the time was over.
        let unanswered: Int

        var sentence: String {
            let left = "\(ResumeWords.deliveries(unanswered)) \(unanswered == 1 ? "is" : "are") unanswered"
            if hasInsisted { return "stopped before it was drained" + (unanswered == 0 ? "" : ": \(left)") }
            return unanswered == 0 ? "drained" : "the time was over: \(left)"
        }
    }

    /// How long a reload may take to end that reads files.
    private static let reloadEndsWithin: Duration = .seconds(2)

    /// First nothing more comes in, then nothing more goes out, then what there is to say is said.
    ///
    /// - Parameter tasks: they have been cancelled, and need loops until they end.
    @discardableResult
    private func end(
        within deadline: Duration, awaiting tasks: [Task<Void, Never>] = []
    ) async -> Ending {
        await pipeline.stopTakingIn(within: min(deadline, .seconds(5)))
        for task in tasks { await task.value }
        let unanswered = await gateways.drain(within: deadline)
        let isReloading = !(await fileReloads.stop(within: Self.reloadEndsWithin))
        await expiry.stop()
        // Who still asks something is answered before that of which he asks is closed.
        await http?.stop()
        await control.stop()
        await pipeline.close()
        await home.run { [signalSource] in signalSource.wrapped.cancel() }
        await insistence.withLock { $0 }?.value
        // Loops outlive whoever comes back to them. A reload that waits for a file that hangs does so in its own time:
        // then the loops end with the process.
        if !isReloading { await loops.shutDown() }
        // A file or a look-up that hangs is not waited for: whoever asked for it has ended, or has a loop to come back to.
        for pool in [files, configurationFile, lookUps] where pool.load == (0, 0) { await pool.shutDown() }
        return Ending(hasInsisted: signals.hasInsisted, unanswered: unanswered)
    }

    // MARK: Reload

    /// Applies what needs no other files before it returns, rights first of all: a credential on a file system that hangs
    /// must not hold up the removal of a right. The rest follows, and with it the line that says that all is done.
    private func reload() async {
        let log = Logger("serve", to: reloadOutput)
        let parsed: Configuration.Parsed
        do {
            parsed = try await configurationFile.run { [source] in try source.read() }
        } catch {
            let faults = (error as? ConfigurationError)?.faults.map(\.description) ?? ["\(error)"]
            // Each of its own, and none left out: whoever mends the file wants to see them all.
            for fault in faults { log.error("\(fault)", [.event: "configuration.refused"]) }
            log.error(
                "the configuration was not reloaded; the old one stays in force",
                [.event: "configuration.refused", .count: faults.count])
            return
        }
        for warning in parsed.warnings { log.warning("\(warning.description)") }
        let old = configuration.withLock { $0 }
        let changes = old.changes(to: parsed.configuration)
        let new = old.reloaded(to: parsed.configuration)
        do {
            try await pipeline.reload(new)
        } catch {
            log.error(
                "the clients of security.clients cannot be used: the configuration was not reloaded, the old one stays",
                [.event: "configuration.refused", .error: "\(error)"])
            return
        }
        configuration.withLock { $0 = new }
        for output in [output, reloadOutput] {
            output.level = new.log.level
            output.format = new.log.format.forLog
        }
        // What applies now has been applied.
        for change in changes { log.notice("\(change.description)") }
        fileReloads.add(new, changes: changes.count)
    }
}

extension StoreError.Code {
    /// Whoever starts it again without doing something will see the same.
    fileprivate var exitCode: ExitCode { self == .cannotOpen ? .notPermitted : .failed }
}

extension Configuration.Log.Format {
    fileprivate var forLog: LogFormat {
        switch self {
        case .text: .text(for: 2)
        case .json: .json
        }
    }
}
