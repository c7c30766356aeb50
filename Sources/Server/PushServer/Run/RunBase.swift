import FoundationEssentials
import PushConfiguration
import PushLoop
import PushTime
import PushTransport

/// What a run has before it opens a store or a socket.
///
/// It is complete when all of it exists; the stages that follow, ``ServerParts`` and ``APIServers``, are made on it and
/// add their ends to its services.
struct RunBase: Sendable {
    /// The configuration of the start.
    let configuration: Configuration
    let logs: ServerLogs
    let directory: DataDirectory
    let limits: ConnectionLimits
    let threads: ServerThreads
    let signals: ServeSignals
    let forcedStop: ForcedStop
    let services = ServiceStack()

    var log: Logger { logs.log }

    /// Examines and locks the data directory, and starts the threads.
    ///
    /// - Throws: ``StartError``. Nothing has started then.
    init(_ parsed: Configuration.Parsed, abandon: @escaping @Sendable () -> Void) async throws {
        let configuration = parsed.configuration
        self.configuration = configuration
        logs = ServerLogs(configuration.log)
        let log = logs.log
        let descriptors = DescriptorLimit.raise()
        if let fault = StartCheck.limitFault(descriptors: descriptors, addressSpace: StartCheck.addressSpace) {
            throw fault
        }
        let check = StartCheck(configuration)
        directory = try DataDirectory(configuration.data, check: check)
        for warning in parsed.warnings { log.warning("\(warning.description)") }
        for caution in check.cautions { log.warning("\(caution)") }
        limits = ConnectionLimits(descriptors: descriptors, http: configuration.http.connections)
        if configuration.http.listen != nil {
            limits.reportHTTP(wanted: configuration.http.connections, descriptors: descriptors, to: log)
        }
        threads = ServerThreads(endedBy: services)
        let home = threads.home
        let forcedStop = ForcedStop(log: log, home: home, abandon: abandon)
        let signals = ServeSignals { forcedStop.begin() }
        (self.forcedStop, self.signals) = (forcedStop, signals)
        let source = await home.run {
            LoopBound(
                SignalSource(on: home, signals: [.hangUp, .terminate, .interrupt]) { signals.received($0) }, on: home)
        }
        services.add { _ in
            await source.with { $0.cancel() }
            await forcedStop.end()
        }
    }

    /// Reads the time zone database. If it is empty, the old one is kept.
    func readZones(insteadOf old: TimeZones = .none) async throws -> TimeZones {
        let directory = TimeZoneDirectory(environment: ProcessInfo.processInfo.environment)
        let contents = try await threads.configurationFile.run { directory.read() }
        contents.report(to: log, from: directory, insteadOf: old)
        return contents.zones.isEmpty ? old : contents.zones
    }
}
