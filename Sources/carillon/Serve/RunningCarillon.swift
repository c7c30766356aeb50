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
    private let lookUps: BlockingPool
    private let signals: ServeSignals
    private let signalSource: LoopBound<SignalSource>
    private let expiry: CredentialExpiry
    private let pipeline: Pipeline
    private let gateways: ServedGateways
    private let control: ControlServer
    private let http: HTTPPort?

    /// Everything is open when it returns; connections come up in their own time.
    init(_ source: ConfigurationSource, _ parsed: Configuration.Parsed) async throws {
        let configuration = parsed.configuration
        self.source = source
        self.configuration = Locked(configuration)
        let output = LogOutput(format: configuration.log.format.forLog, level: configuration.log.level)
        let log = Logger("serve", to: output)
        (self.output, self.log) = (output, log)
        reloadOutput = LogOutput(format: configuration.log.format.forLog, level: configuration.log.level, limit: nil)
        let lock = try DataLock(directory: configuration.data)
        self.lock = lock
        for warning in parsed.warnings { log.warning("\(warning.description)") }

        let loops = LoopGroup()
        let home = loops.loops[0]
        let files = BlockingPool(name: "files", threadCount: 2, queueLimit: 64)
        let lookUps = BlockingPool(name: "resolve", threadCount: 2, queueLimit: 256)
        (self.loops, self.home, self.files, self.lookUps) = (loops, home, files, lookUps)
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
                configuration, on: Pipeline.Ground(loops: loops, log: log, directory: lock.directory))
        } catch {
            await loops.shutDown()
            await files.shutDown()
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

        let signals = ServeSignals {
            log.notice("stopping at once: what is on its way is given up")
            Task { await gateways.drain(within: .zero) }
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
                    GatewayRoutes.all(gateways)
                        + PipelineRoutes.all(
                            devices: pipeline.registry, events: pipeline.ledger, waiting: pipeline.waiting,
                            statistics: statistics, identities: pipeline.ledger.identities, apps: apps)))
            self.control = control
            do {
                http =
                    if let listen = configuration.http.listen {
                        try await HTTPPort(
                            configuration.http, at: listen, on: home, files: files,
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
        } catch {
            await home.run { [signalSource] in signalSource.wrapped.cancel() }
            await pipeline.close()
            await loops.shutDown()
            await files.shutDown()
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

    /// Until it is told to stop; 0 if what was on its way could be sent.
    func run(drainingWithin deadline: Duration) async -> ExitCode {
        while await signals.next() == .reload { await reload() }
        log.notice("draining: no more than this is waited for what is on its way", [.duration: deadline])
        let hasInsisted = await end(within: deadline)
        log.notice("stopped")
        output.flushSuppressed()
        return hasInsisted ? .failed : .done
    }

    /// First nothing more comes in, then nothing more goes out, then what there is to say is said. Whether somebody did
    /// not want to wait for it.
    @discardableResult
    private func end(within deadline: Duration) async -> Bool {
        await pipeline.stopTakingIn(within: min(deadline, .seconds(5)))
        await gateways.drain(within: deadline)
        await expiry.stop()
        // Who still asks something is answered before that of which he asks is closed.
        await http?.stop()
        await control.stop()
        await pipeline.close()
        let hasInsisted = signals.hasInsisted
        await home.run { [signalSource] in signalSource.wrapped.cancel() }
        await loops.shutDown()
        await files.shutDown()
        // A look-up that hangs is not waited for: its answer comes to a loop that is gone, and is dropped.
        if lookUps.load == (0, 0) { await lookUps.shutDown() }
        return hasInsisted
    }

    // MARK: Reload

    private func reload() async {
        let log = Logger("serve", to: reloadOutput)
        let parsed: Configuration.Parsed
        do {
            parsed = try await files.run { [source] in try source.read() }
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
        for change in changes { log.notice("\(change.description)") }
        let new = old.reloaded(to: parsed.configuration)
        configuration.withLock { $0 = new }
        for output in [output, reloadOutput] {
            output.level = new.log.level
            output.format = new.log.format.forLog
        }
        if let http, let tls = new.http.tls {
            do {
                try await http.renew(tls, files: files)
            } catch {
                log.error("\(error.description)", [.event: "configuration.refused"])
            }
        }
        await gateways.serve(new.apps)
        do {
            try await pipeline.reload(new)
        } catch {
            log.error(
                "the clients of security.clients cannot be used; the old ones stay in force",
                [.event: "configuration.refused", .error: "\(error)"])
        }
        log.notice("reloaded", [.event: "configuration.reloaded", .count: changes.count])
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
