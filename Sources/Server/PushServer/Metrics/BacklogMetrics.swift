import PushLogic
import PushLoop
import PushModel
import PushStore

/// The state of each app for operators: whether it can send, how much waits, and for how long.
struct AppBacklogRow: Sendable, Equatable {
    let app: AppID
    /// Whether the app can send now; nil if it is not in the configuration and only its messages are left.
    var isReady: Bool?
    var backlog = AppBacklog()
    var waits: AppWaits?

    /// Returns a row for each app that is served, and for each other app whose messages wait, ordered by name.
    static func all(
        served: [ServedStatus], obstacle: String?, ledger: LedgerStatus, waits: [AppWaits]
    ) -> [AppBacklogRow] {
        var rows: [AppID: AppBacklogRow] = [:]
        for status in served {
            rows[status.app.id] = AppBacklogRow(app: status.app.id, isReady: obstacle == nil && status.obstacle == nil)
        }
        for (app, backlog) in ledger.apps { rows[app, default: AppBacklogRow(app: app)].backlog = backlog }
        for wait in waits where rows[wait.app] != nil || wait.messages.count + wait.unanswered.count > 0 {
            rows[wait.app, default: AppBacklogRow(app: wait.app)].waits = wait
        }
        return rows.values.sorted { $0.app.name < $1.app.name }
    }
}

/// The metrics of what waits, by app. They are computed when the metrics page is rendered, with the time of then, so
/// that ages grow even if everything else stands still.
final class BacklogMetrics: Sendable {
    private let rows = Locked<[AppBacklogRow]>([])

    init(in registry: MetricsRegistry, clock: @escaping @Sendable () -> WallTime = { .current() }) {
        registry.computedGauges(
            "carillon_app_ready", help: "1 if pushes of the app can be sent now.", labels: ["app"]
        ) { [rows] in
            rows.withLock { $0 }.compactMap { row in
                row.isReady.map { MetricValue(labels: [row.app.name], value: $0 ? 1 : 0) }
            }
        }
        gauges(
            registry, named: "carillon_messages_waiting",
            help: "Accepted messages that are not completed, without those that were scheduled."
        ) { Double($0.backlog.waiting) }
        gauges(
            registry, named: "carillon_messages_scheduled",
            help: "Messages whose not_before was ahead when they were accepted, and that are not completed."
        ) { Double($0.backlog.scheduled) }
        registry.computedGauges(
            "carillon_oldest_waiting_seconds",
            help: "Age of the oldest message that is due and not completed, by the size of its audience; 0 if there is "
                + "none.",
            labels: ["app", "audience"]
        ) { [rows] in
            let now = clock()
            return rows.withLock { $0 }.flatMap { row in
                [("few", row.waits?.few), ("many", row.waits?.many)].map { audience, wait in
                    MetricValue(labels: [row.app.name, audience], value: wait?.age(at: now).inSeconds ?? 0)
                }
            }
        }
        gauges(
            registry, named: "carillon_oldest_unanswered_seconds",
            help: "Age of the oldest delivery that a gateway has and that has no result; 0 if there is none."
        ) { $0.waits?.unanswered.age(at: clock()).inSeconds ?? 0 }
    }

    func update(_ rows: [AppBacklogRow]) {
        self.rows.withLock { $0 = rows }
    }

    private func gauges(
        _ registry: MetricsRegistry, named name: String, help: String,
        value: @escaping @Sendable (AppBacklogRow) -> Double
    ) {
        registry.computedGauges(name, help: help, labels: ["app"]) { [rows] in
            rows.withLock { $0 }.map { MetricValue(labels: [$0.app.name], value: value($0)) }
        }
    }
}
