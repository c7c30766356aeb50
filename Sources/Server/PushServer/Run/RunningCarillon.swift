import PushAPI
package import PushConfiguration
import PushLoop
import PushStore
import PushTime

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
    let supervisor: Supervisor
    /// The configuration in force.
    let configuration: Locked<Configuration>
    let base: RunBase
    private let parts: ServerParts
    private let servers: APIServers
    let fileReloads: FileReloads
    let reloadQueue = ReloadQueue()

    var logs: ServerLogs { base.logs }
    var catalog: AppCatalog { parts.apps }
    var pipeline: Pipeline { parts.pipeline }
    var zones: SharedTimeZones { parts.zones }
    var health: ServedHealth { parts.health }
    var configurationFile: BlockingPool { base.threads.configurationFile }

    /// Starts everything. It does not wait for connections to push services.
    ///
    /// - Parameters:
    ///   - supervisor: receives the state of the server. A start that takes long extends its time.
    ///   - abandon: called on a loop three seconds after a second signal to stop, if the process still runs.
    /// - Throws: `StartError` for problems that an operator can correct. All parts that were started have ended by
    ///   then.
    package static func start(
        _ source: ConfigurationSource, parsed: Configuration.Parsed, supervisor: Supervisor,
        abandon: @escaping @Sendable () -> Void
    ) async throws -> RunningCarillon {
        let starting = Task { await supervisor.extendStart() }
        defer { starting.cancel() }
        let base = try await RunBase(parsed, abandon: abandon)
        do {
            let contexts = TLSContexts()
            let parts = try await ServerParts(on: base, contexts: contexts)
            let servers = try await APIServers(to: parts, on: base)
            let carillon = RunningCarillon(source, supervisor: supervisor, base: base, parts: parts, servers: servers)
            try await carillon.begin(contexts)
            return carillon
        } catch {
            await base.services.end(within: .zero)
            base.directory.abandonRun()
            throw (error as? StoreError).map { StartError($0) } ?? error
        }
    }

    private init(
        _ source: ConfigurationSource, supervisor: Supervisor, base: RunBase, parts: ServerParts, servers: APIServers
    ) {
        self.source = source
        self.supervisor = supervisor
        configuration = Locked(base.configuration)
        (self.base, self.parts, self.servers) = (base, parts, servers)
        fileReloads = FileReloads { [files = base.threads.files, log = base.logs.reloads] configuration, changes in
            await parts.applyFiles(of: configuration, port: servers.http, files: files, log: log)
            log.notice("reloaded", [.event: "configuration.reloaded", .count: changes])
        }
    }

    /// The maximum time that the shutdown waits for a reload which reads files.
    private static let reloadEndsWithin: Duration = .seconds(2)

    /// Connects to the push services and accepts messages. Intake comes last, and ends first.
    private func begin(_ contexts: TLSContexts) async throws {
        let (services, threads, directory) = (base.services, base.threads, base.directory)
        let (pipeline, gateways) = (parts.pipeline, parts.gateways)
        services.add { [fileReloads] _ in
            if await !fileReloads.stop(within: Self.reloadEndsWithin) { threads.keepLoops() }
        }
        services.add { directory.drained(leaving: await gateways.drain(within: $0)) }
        // The record exists before the first delivery can leave. Its number follows when there are connections.
        try await threads.files.run { directory.beginRun() }
        await gateways.serve(base.configuration.apps, contexts: contexts)
        beginUpkeep()
        try await pipeline.openIntake()
        pipeline.node?.announce(router: pipeline.endpoints?.intake?.router, http: servers.http?.address)
        services.add { await pipeline.stopTakingIn(within: min($0, .seconds(5))) }
        servers.configuration.started(self)
    }

    private func beginUpkeep() {
        let record = InFlightRecord(record: base.directory.record, gateways: parts.gateways, files: base.threads.files)
        let tasks = [
            Task { await record.keep() },
            Task { [threads = base.threads] in await threads.releaseMemory() },
            Task { [statistics = servers.statistics] in await statistics.keepHistory() },
        ]
        base.services.add { _ in
            for task in tasks { task.cancel() }
            for task in tasks { await task.value }
        }
    }

    /// Returns the endpoints and apps that are served.
    package func startReport() async -> StartReport {
        StartReport(
            data: base.directory.path, control: servers.control.address, http: servers.http?.address,
            endpoints: pipeline.endpoints, apps: await parts.gateways.statuses())
    }

    /// Logs the start: the endpoints, and the messages that were recovered.
    package func logStart(_ report: StartReport) {
        let log = logs.log
        log.notice(
            "started",
            [
                .event: "carillon.started", .version: Release.version, .data: report.data, .apps: report.apps.count,
                .router: report.router ?? "off", .pull: report.pull ?? "off", .publish: report.publish ?? "off",
                .replay: report.replay ?? "off", .http: report.http ?? "off",
            ])
        let (waiting, scheduled) = (pipeline.recovered.waiting, pipeline.recovered.scheduled)
        let uncleanEnd = base.directory.uncleanEnd
        guard let sentence = ResumeDescription(waiting: waiting, scheduled: scheduled, uncleanEnd: uncleanEnd).sentence
        else {
            return
        }
        guard let uncleanEnd else {
            return log.notice("\(sentence)", [.event: "carillon.resumed", .waiting: waiting, .scheduled: scheduled])
        }
        var fields: LogFields = [.event: "carillon.recovered", .waiting: waiting, .scheduled: scheduled]
        if let most = uncleanEnd.maxInFlight { fields.append(most, for: .maximum) }
        log.warning("\(sentence)", fields)
    }

    // MARK: Run and stop

    /// Serves until a signal asks to stop, then waits at most `deadline` for deliveries in flight.
    package func run(drainingWithin deadline: Duration) async -> End {
        let signals = base.signals
        supervisor.ready(status: await health.readiness().sentence)
        base.threads.beginBeating(supervisor) { [health] in await health.readiness().sentence }
        while await signals.next() == .reload {
            // The system does not tell who has sent the signal.
            await parts.operators.record([ReloadConfiguration.change(await reload())], by: OperatorName(user: nil))
        }
        supervisor.stopping(drainingWithin: deadline)
        let log = logs.log
        log.notice("draining: waiting at most this long for deliveries in flight", [.duration: deadline])
        let begun = MonotonicTime.current()
        await base.services.end(within: deadline)
        let (unanswered, isAtOnce) = (base.directory.endRun(), signals.hasInsisted)
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
