import PushLoop
import PushModel
import PushPipeline
import PushStore
import PushTime
import PushTransport

/// The series of the pipeline, read off when somebody asks.
final class PipelineMetrics: Sendable {
    private struct Current {
        var intake = IntakeCounts()
        var ledger = SQLiteLedger.Status()
        var events = EventBusStatus()
        var devices = Registry.Status()
        var stopped = 0
        var refused: [RefusedHandshakes.Key: UInt64] = [:]
        var isReady = false
    }

    private let current = Locked(Current())
    private let registry: MetricsRegistry
    /// Clients whose series are there.
    private let clients = Locked<Set<String>>([])
    /// More clients than these have no series of their own.
    private static let mostClients = 100

    init(in registry: MetricsRegistry) {
        self.registry = registry
        for (status, read) in Self.statuses {
            counter(
                registry, "carillon_intake_requests_total", "Requests of producers, by what became of them.",
                ["status": status]
            ) { read($0.intake) }
        }
        for reason in RejectionReason.allCases {
            counter(
                registry, "carillon_intake_rejections_total", "Requests that were not taken, by reason.",
                ["reason": reason.rawValue]
            ) { $0.intake.rejected[reason] ?? 0 }
        }
        counter(registry, "carillon_intake_bytes_total", "Bytes of envelopes and payloads.") { $0.intake.bytes }
        counter(registry, "carillon_intake_dropped_acks_total", "Acks whose producer went or did not read.") {
            $0.intake.droppedAcks
        }
        for (socket, read) in Self.connections {
            registry.computedGauge(
                "carillon_client_connections", help: "Connections to ZeroMQ sockets, handshakes done or not.",
                labels: ["kind": socket]
            ) { [current] in current.withLock { Double(read($0)) } }
        }
        for quota in AppQuota.allCases {
            counter(
                registry, "carillon_intake_over_limit_total",
                "Requests that were not taken because their app had reached a limit.", ["reason": quota.rawValue]
            ) { $0.intake.overQuota[quota] ?? 0 }
        }
        for key in Self.refusals {
            counter(
                registry, "carillon_refused_connections_total",
                "Connections that were refused at the handshake, by socket and reason.",
                ["kind": key.socket?.rawValue ?? "unknown", "reason": key.cause.rawValue]
            ) { $0.refused[key] ?? 0 }
        }
        gauge(registry, "carillon_intake_unanswered", "Requests that wait for the disk.") {
            Double($0.intake.unanswered)
        }
        gauge(registry, "carillon_messages_waiting", "Messages that were accepted and are not done.") {
            Double($0.ledger.waiting)
        }
        gauge(registry, "carillon_messages_scheduled", "Messages whose time has not come.") {
            Double($0.ledger.scheduled)
        }
        counter(registry, "carillon_ledger_commits_total", "Groups that were written and synced.") {
            $0.ledger.commits.count
        }
        counter(registry, "carillon_ledger_events_total", "Numbers given to events since there is this ledger.") {
            $0.ledger.newest
        }
        registry.computedCounter("carillon_ledger_commit_seconds_total", help: "Time in those, from begin to synced.") {
            [current] in current.withLock { $0.ledger.commits.total.inSeconds }
        }
        gauge(registry, "carillon_ledger_log_bytes", "The event log on disk.") { Double($0.ledger.logBytes) }
        gauge(registry, "carillon_ledger_keys_bytes", "Memory of what is deduped by.") { Double($0.ledger.keyBytes) }
        gauge(registry, "carillon_ledger_keys", "Message ids and deliveries that are remembered.") {
            Double($0.ledger.remembered)
        }
        counter(registry, "carillon_ledger_keys_refused_total", "New messages refused because of dedupe.limit.") {
            $0.ledger.refusedByLimit
        }
        gauge(registry, "carillon_ledger_write_ahead_pages", "Pages of 8 KiB in the write-ahead log.") {
            Double($0.ledger.writeAheadPages)
        }
        gauge(registry, "carillon_ledger_failing", "1 while the disk refuses what is written.") {
            $0.ledger.fault == nil ? 0 : 1
        }
        counter(registry, "carillon_events_published_total", "Events sent to subscribers.") { $0.events.published }
        counter(registry, "carillon_events_dropped_total", "Events not published for want of room; replay has them.") {
            $0.events.dropped
        }
        counter(registry, "carillon_replay_requests_total", "Questions for what was missed.") {
            $0.events.replayRequests
        }
        gauge(registry, "carillon_devices_registered", "Devices that were registered, gone or not.") {
            Double($0.devices.registered)
        }
        gauge(registry, "carillon_devices_inactive", "Devices that are known to be gone, registered or not.") {
            Double($0.devices.inactive)
        }
        gauge(registry, "carillon_brakes_on", "Apps whose devices are not deactivated for a flood of bad tokens.") {
            Double($0.stopped)
        }
        gauge(registry, "carillon_ready", "1 if a push would go out now, for every app.") { $0.isReady ? 1 : 0 }
    }

    /// A malformed question names no socket that is known.
    private static let refusals =
        PipelineSocket.allCases.flatMap { socket in
            ZAPRefusalCause.allCases.filter { $0 != .malformed }.map {
                RefusedHandshakes.Key(socket: socket, cause: $0)
            }
        } + [RefusedHandshakes.Key(socket: nil, cause: .malformed)]

    func refresh(_ pipeline: Pipeline, isReady: Bool) async {
        var now = Current()
        now.intake = await pipeline.intake.counts
        now.ledger = await pipeline.ledger.status()
        now.events = await pipeline.bus.status
        now.devices = pipeline.registry.status
        now.stopped = await pipeline.feedback.status.stopped.count
        now.refused = pipeline.refusedHandshakes.counts
        now.isReady = isReady
        let read = now
        current.withLock { $0 = read }
        register(now.intake.clients.keys.sorted())
    }

    private static let connections: [(String, @Sendable (Current) -> Int)] = [
        ("intake", { $0.intake.connections }), ("events", { $0.events.connections }),
    ]

    /// Series for clients that handed something in for the first time.
    private func register(_ names: [String]) {
        let new = clients.withLock { known in
            names.filter { known.count < Self.mostClients && known.insert($0).inserted }
        }
        for name in new {
            for (status, read) in Self.clientStatuses {
                counter(
                    registry, "carillon_client_requests_total", "Requests of each client, by what became of them.",
                    ["client": name, "status": status]
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
        ("rejected", { $0.rejections }),
    ]

    private func gauge(
        _ registry: MetricsRegistry, _ name: String, _ help: String, _ read: @escaping @Sendable (Current) -> Double
    ) {
        registry.computedGauge(name, help: help) { [current] in current.withLock { read($0) } }
    }

    private func counter(
        _ registry: MetricsRegistry, _ name: String, _ help: String, _ labels: MetricLabels = [:],
        _ read: @escaping @Sendable (Current) -> UInt64
    ) {
        registry.computedCounter(name, help: help, labels: labels) { [current] in current.withLock { Double(read($0)) }
        }
    }
}
