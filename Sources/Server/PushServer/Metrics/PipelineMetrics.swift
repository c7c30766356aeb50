import PushAPI
import PushLogic
import PushLoop
import PushModel
import PushPipeline
import PushStore
import PushTime
import PushTransport

/// The metrics of the pipeline, computed when the metrics page is requested.
final class PipelineMetrics: Sendable {
    /// The state of all parts at one moment.
    struct Reading: Sendable {
        var intake = IntakeCounts()
        var ledger = LedgerStatus()
        var events = EventBusStatus()
        var devices = RegistryStatus()
        var refused: [RefusedHandshakes.Key: UInt64] = [:]
        var busy: Duration = .zero
        /// The reason why no message can be carried out now, independent of the gateways; nil if there is none.
        var obstacle: String?
        var waits: [AppWaits] = []
        var feedback: Feedback.Status?
        fileprivate var isReady = false
    }

    private let current = Locked(Reading())
    private let registry: MetricsRegistry
    private let backlog: BacklogMetrics
    private let brakes = Locked<[(app: AppID, isOn: Bool, deactivated: Int)]>([])
    /// The clients that have series.
    private let clients = Locked<Set<String>>([])
    /// The maximum number of clients with series of their own.
    private static let maxClients = 100

    init(in registry: MetricsRegistry) {
        self.registry = registry
        backlog = BacklogMetrics(in: registry)
        registerIntake()
        registerLedger()
        registerEvents()
        registerDevices()
    }

    private func registerIntake() {
        for (status, read) in Self.statuses {
            counter(
                named: "carillon_intake_requests_total", help: "Requests of producers, by status.",
                labels: ["status": status]
            ) { read($0.intake) }
        }
        for reason in RejectionReason.allCases {
            counter(
                named: "carillon_intake_rejections_total", help: "Rejected requests of producers, by reason.",
                labels: ["reason": reason.rawValue]
            ) { $0.intake.rejected[reason] ?? 0 }
        }
        counter(named: "carillon_intake_bytes_total", help: "Received bytes of envelopes and payloads.") {
            $0.intake.bytes
        }
        counter(
            named: "carillon_intake_dropped_acks_total",
            help: "Acknowledgments dropped because the producer disconnected or did not read."
        ) { $0.intake.droppedAcks }
        for (socket, read) in Self.connections {
            registry.computedGauge(
                "carillon_client_connections", help: "Connections to ZeroMQ sockets, including handshakes.",
                labels: ["kind": socket]
            ) { [current] in current.withLock { Double(read($0)) } }
        }
        for quota in AppQuota.allCases {
            counter(
                named: "carillon_intake_over_limit_total",
                help: "Requests answered busy because their app had reached a limit.",
                labels: ["reason": quota.rawValue]
            ) { $0.intake.overQuota[quota] ?? 0 }
        }
        for key in Self.refusals {
            counter(
                named: "carillon_refused_connections_total",
                help: "Connections refused during the handshake, by socket and reason.",
                labels: ["kind": key.socket?.rawValue ?? "unknown", "reason": key.cause.rawValue]
            ) { $0.refused[key] ?? 0 }
        }
        gauge(named: "carillon_intake_unanswered", help: "Requests that wait until they are on disk.") {
            Double($0.intake.unanswered)
        }
    }

    private func registerLedger() {
        counter(named: "carillon_ledger_events_total", help: "Events recorded since the ledger was created.") {
            $0.ledger.newest
        }
        gauge(
            named: "carillon_ledger_busy_seconds",
            help: "Time for which the ledger has worked on its current group of writes; 0 if it has no work."
        ) { $0.busy.inSeconds }
        gauge(named: "carillon_ledger_log_bytes", help: "Size of the event log on disk.") {
            Double($0.ledger.logBytes)
        }
        gauge(named: "carillon_ledger_keys_bytes", help: "Memory used for deduplication.") {
            Double($0.ledger.keyBytes)
        }
        gauge(named: "carillon_ledger_keys", help: "Remembered message ids and deliveries.") {
            Double($0.ledger.remembered)
        }
        counter(
            named: "carillon_ledger_keys_refused_total", help: "New messages refused because of dedupe.limit."
        ) {
            $0.ledger.refusedByLimit
        }
        gauge(named: "carillon_ledger_write_ahead_pages", help: "Pages of 8 KiB in the write-ahead log.") {
            Double($0.ledger.writeAheadPages)
        }
        gauge(named: "carillon_ledger_failing", help: "1 while the ledger cannot write.") {
            $0.ledger.fault == nil ? 0 : 1
        }
        counter(
            named: "carillon_ledger_events_lost_total",
            help: "Events dropped because the ledger could not write for too long; replay does not have them."
        ) { $0.ledger.droppedEvents }
    }

    private func registerEvents() {
        counter(named: "carillon_events_published_total", help: "Events sent to subscribers.") {
            $0.events.published
        }
        counter(
            named: "carillon_events_dropped_total",
            help: "Events not published for lack of room; replay has them."
        ) {
            $0.events.dropped
        }
        gauge(
            named: "carillon_events_unpublished", help: "Recorded events that are not published yet."
        ) { Double(Self.lag(of: $0.events.rendered, behind: $0.ledger.newest)) }
        gauge(
            named: "carillon_registry_unapplied_events",
            help: "Recorded events that the registry has not applied yet."
        ) { Double(Self.lag(of: $0.devices.applied, behind: $0.ledger.newest)) }
        counter(named: "carillon_replay_requests_total", help: "Requests for replay.") {
            $0.events.replayRequests
        }
    }

    private func registerDevices() {
        gauge(named: "carillon_devices_registered", help: "Devices that were ever registered, active or not.") {
            Double($0.devices.registered)
        }
        gauge(
            named: "carillon_devices_inactive",
            help: "Devices that are known to be inactive, registered or not."
        ) {
            Double($0.devices.inactive)
        }
        registry.computedGauges(
            "carillon_brake_on", help: "1 while deactivations of the app are stopped after a flood of bad tokens.",
            labels: ["app"]
        ) { [brakes] in
            brakes.withLock { $0 }.map { MetricValue(labels: [$0.app.name], value: $0.isOn ? 1 : 0) }
        }
        registry.computedGauges(
            "carillon_brake_deactivated_devices",
            help: "Devices that bad tokens had deactivated before the brake was on; 0 while it is off.", labels: ["app"]
        ) { [brakes] in
            brakes.withLock { $0 }.map { MetricValue(labels: [$0.app.name], value: Double($0.deactivated)) }
        }
        gauge(named: "carillon_ready", help: "1 if pushes can be sent now for every app.") {
            $0.isReady ? 1 : 0
        }
    }

    /// The labels of refused connections. A malformed ZAP request, and a socket without CURVE, do not name the socket.
    private static let refusals =
        PipelineSocket.allCases.flatMap { socket in
            ZAPRefusalCause.allCases.map { RefusedHandshakes.Key(socket: socket, cause: $0) }
        } + [.mechanism, .malformed].map { RefusedHandshakes.Key(socket: nil, cause: $0) }

    /// Updates the metrics, and creates the series of new clients.
    func show(_ reading: Reading, served: [ServedStatus]) {
        var now = reading
        now.isReady = Readiness(served, obstacle: reading.obstacle).ready
        current.withLock { [now] in $0 = now }
        backlog.update(
            AppBacklogRow.all(
                served: served, obstacle: reading.obstacle, ledger: reading.ledger, waits: reading.waits))
        brakes.withLock {
            $0 = served.map { status in
                let app = status.app.id
                let feedback = reading.feedback
                return (app, feedback?.stopped.contains(app) ?? false, feedback?.misdirected[app]?.count ?? 0)
            }
        }
        register(reading.intake.clients.keys.sorted())
    }

    private static func lag(of number: UInt64, behind newest: UInt64) -> UInt64 {
        newest > number ? newest - number : 0
    }

    private static let connections: [(String, @Sendable (Reading) -> Int)] = [
        ("intake", { $0.intake.connections }), ("events", { $0.events.connections }),
    ]

    /// Registers the series of clients that have sent their first request.
    private func register(_ names: [String]) {
        let new = clients.withLock { known in
            names.filter { known.count < Self.maxClients && known.insert($0).inserted }
        }
        for name in new {
            for (status, read) in Self.clientStatuses {
                counter(
                    named: "carillon_client_requests_total", help: "Requests of each client, by status.",
                    labels: ["client": name, "status": status]
                ) { $0.intake.clients[name].map(read) ?? 0 }
            }
        }
    }

    private static let clientStatuses: [(String, @Sendable (IntakeCounts.Totals) -> UInt64)] = [
        ("accepted", { $0.accepted }), ("duplicate", { $0.duplicate }), ("busy", { $0.busy }),
        ("rejected", { $0.rejected }),
    ]

    private static let statuses: [(String, @Sendable (IntakeCounts) -> UInt64)] = [
        ("accepted", { $0.accepted }), ("duplicate", { $0.duplicate }), ("busy", { $0.busy }),
        ("rejected", { $0.rejections }), ("cancelled", { $0.cancelled }), ("too_late", { $0.tooLate }),
    ]

    private func gauge(
        named name: String, help: String, labels read: @escaping @Sendable (Reading) -> Double
    ) {
        registry.computedGauge(name, help: help) { [current] in current.withLock { read($0) } }
    }

    private func counter(
        named name: String, help: String, labels: MetricLabels = [:],
        value read: @escaping @Sendable (Reading) -> UInt64
    ) {
        registry.computedCounter(name, help: help, labels: labels) { [current] in current.withLock { Double(read($0)) }
        }
    }
}
