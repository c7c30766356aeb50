import PushAPI
import PushLoop
import PushText

/// One screen of statistics. It shows rates if there is an earlier response of the same process, and totals otherwise.
struct StatsScreen: Sendable {
    private let terminal: Terminal

    init(_ terminal: Terminal) {
        self.terminal = terminal
    }

    func text(_ now: StatsAnswer, since earlier: StatsAnswer?) -> String {
        // A restart resets all counters, so there is nothing to compare with.
        let before = earlier.flatMap { $0.startedAt == now.startedAt && $0.at < now.at && now.adds($0) ? $0 : nil }
        let rates = Rates(seconds: before.map { Double(now.at.milliseconds(since: $0.at)) / 1000 })
        return head(now) + "\n" + flow(now, since: before, rates: rates) + apps(now, since: before, rates: rates)
            + brakes(now) + "\n" + rest(now, since: before, rates: rates)
    }

    private func head(_ now: StatsAnswer) -> String {
        let state =
            now.ready
            ? terminal.colored("ready", in: .green)
            : terminal.colored("not ready", in: .red)
        let version = now.version.map { " \(PlainText.line($0, limit: 20))" } ?? ""
        let first =
            terminal.colored("Carillon\(version)", in: .bold)
            + ", \(state), up \(DurationText.age(max(0, now.at.milliseconds(since: now.startedAt)) / 1000)), "
            + "\(now.at.iso8601)\n"
        let nodes = now.nodes.map { "  nodes: \($0.map(Self.node).joined(separator: ", "))\n" } ?? ""
        return first + nodes
            + now.obstacles.map { obstacle in
                "  \(terminal.hanging(PlainText.line(obstacle), indent: 2) { terminal.colored($0, in: .red) })\n"
            }.joined()
    }

    private static func node(_ node: StatsAnswer.Node) -> String {
        let name = PlainText.line(node.node, limit: 64)
        if node.fault != nil { return "\(name) (no answer)" }
        return node.ready == false ? "\(name) (not ready)" : name
    }

    private func flow(_ now: StatsAnswer, since before: StatsAnswer?, rates: Rates) -> String {
        var rows: [(name: String, text: String)] = []
        if let intake = now.intake {
            let earlier = before?.intake
            rows.append(
                (
                    "intake",
                    "accepted \(rates.text(intake.accepted, since: earlier?.accepted)), "
                        + "duplicate \(rates.text(intake.duplicate, since: earlier?.duplicate)), "
                        + "rejected \(rates.text(intake.rejected, since: earlier?.rejected)), "
                        + "busy \(rates.text(intake.busy, since: earlier?.busy))"
                ))
        }
        if let backlog = now.backlog {
            let oldest =
                backlog.oldestWaitingMilliseconds.flatMap { $0 >= 1000 ? $0 / 1000 : nil }
                .map { ", the oldest for \(DurationText.age($0))" } ?? ""
            let due = backlog.nextDue.map { ", next due at \($0.iso8601)" } ?? ""
            rows.append(
                (
                    "backlog",
                    "\(Self.number(backlog.waiting)) waiting\(oldest), \(Self.number(backlog.scheduled)) scheduled\(due)"
                ))
        }
        return rows.isEmpty ? "" : PlainText.rows(rows, on: terminal) + "\n"
    }

    private static let heading = [
        "app", "state", "conns", "credit", "queue", "in flight", "sent", "rejected", "retries", "unknown", "p50",
        "p99",
    ]

    private func apps(_ now: StatsAnswer, since before: StatsAnswer?, rates: Rates) -> String {
        guard !now.apps.isEmpty else { return "  There are no apps.\n" }
        let rows = now.apps.map { app in
            let earlier = before?.apps.first { $0.app == app.app }
            let latency = app.latency.flatMap { latency in earlier?.latency.flatMap { latency.since($0) } ?? latency }
            return [
                PlainText.line(app.app, limit: 64), PlainText.line(Self.state(app), limit: 60),
                Self.number(app.connections),
                Self.number(app.credit), Self.number(app.queue), Self.number(app.inFlight),
                rates.text(app.sent, since: earlier?.sent), rates.text(app.rejected, since: earlier?.rejected),
                rates.text(app.retries, since: earlier?.retries), rates.text(app.unknown, since: earlier?.unknown),
                Self.quantile(latency, at: 0.5), Self.quantile(latency, at: 0.99),
            ]
        }
        let table = TableDetail(isShort: terminal.width != nil, now: now.at)
            .table(Self.heading, rows: rows, optional: ["queue", "in flight", "rejected", "retries", "unknown"])
        return terminal.table(table.heading, rows: table.rows) { column, cell in
            column == 1 && cell != "up" ? .yellow : nil
        }
    }

    /// Two words for the table. The obstacles above it have the sentence.
    private static func state(_ app: StatsAnswer.App) -> String {
        let state = GatewayTable.parts(of: app.state).word
        return app.isBrakeOn == true ? "\(state), brake on" : state
    }

    /// What the brakes have stopped, and what had happened before.
    private func brakes(_ now: StatsAnswer) -> String {
        now.apps.filter { $0.isBrakeOn == true }.map { app in
            let count = app.brakeDeactivated ?? 0
            let before = count == 1 ? "1 device was deactivated" : "\(count) devices were deactivated"
            let since = app.brakeDeactivatedSince.map { " since \($0.iso8601)" } ?? ""
            let text = "\(PlainText.line(app.app, limit: 64)): brake on: \(before)\(since), none since the brake"
            return "  \(terminal.hanging(text, indent: 2) { terminal.colored($0, in: .yellow) })\n"
        }.joined()
    }

    private func rest(_ now: StatsAnswer, since before: StatsAnswer?, rates: Rates) -> String {
        var rows: [(name: String, text: String)] = []
        if let ledger = now.ledger {
            let health =
                ledger.fault.map { terminal.colored("cannot write: \(PlainText.line($0))", in: .red) }
                ?? terminal.colored("healthy", in: .green)
            rows.append(
                (
                    "ledger",
                    "events \(rates.text(ledger.events, since: before?.ledger?.events)), last commit "
                        + "\(ledger.lastCommitMilliseconds.map { PlainText.milliseconds($0) } ?? "-"), "
                        + "\(ledger.bytes.map(Self.size) ?? "-") on disk, \(health)"
                ))
            rows.append(("", "kept: events \(Self.number(ledger.oldest)) to \(Self.number(ledger.newest))"))
        }
        if let registry = now.registry {
            let unregistered = registry.unregistered ?? 0
            let others = unregistered > 0 ? "; never registered and inactive: \(Self.number(unregistered))" : ""
            rows.append(
                (
                    "registry",
                    "\(Self.number(registry.devices)) \(registry.devices == 1 ? "device" : "devices"), "
                        + "\(Self.number(registry.inactive)) inactive" + others
                ))
        }
        if let events = now.events {
            rows.append(
                (
                    "event bus",
                    "\(Self.number(events.subscriptions)) \(events.subscriptions == 1 ? "subscription" : "subscriptions"), "
                        + "published \(rates.text(events.published, since: before?.events?.published))"
                ))
        }
        return PlainText.rows(rows, on: terminal)
    }

    // MARK: Numbers

    /// Formats a counter as its rate between two responses, or as its value if there is nothing to compare it with.
    struct Rates {
        let seconds: Double?

        func text(_ now: UInt64?, since before: UInt64?) -> String {
            guard let now else { return "-" }
            guard let seconds, seconds > 0, let before, before <= now else { return StatsScreen.number(now) }
            return StatsScreen.rate(Double(now - before) / seconds) + "/s"
        }
    }

    /// Formats a rate: `0`, `0.5`, `12`, `12,400`.
    static func rate(_ value: Double) -> String {
        guard value.isFinite, value < 1e15 else { return "-" }
        if value > 0, value < 9.95 {
            let tenths = Int64((value * 10).rounded())
            return tenths == 0 ? "<0.1" : "\(tenths / 10).\(tenths % 10)"
        }
        return number(Int64(value.rounded()))
    }

    static func number(_ value: (some BinaryInteger)?) -> String {
        guard let value else { return "-" }
        var digits = "\(value)"
        var grouped = ""
        while digits.count > 3, digits.dropLast(3) != "-" {
            grouped = "," + digits.suffix(3) + grouped
            digits.removeLast(3)
        }
        return digits + grouped
    }

    static func size(_ bytes: UInt64) -> String {
        let units: [(String, Double)] = [("TiB", 0x1p40), ("GiB", 0x1p30), ("MiB", 0x1p20), ("KiB", 0x1p10)]
        for (name, size) in units where Double(bytes) >= size {
            let tenths = UInt64((Double(bytes) / size * 10).rounded())
            return "\(tenths / 10).\(tenths % 10) \(name)"
        }
        return "\(bytes) B"
    }

    private static func quantile(_ latency: Latency?, at share: Double) -> String {
        guard let (milliseconds, isMore) = latency?.quantile(share) else { return "-" }
        return (isMore ? ">" : "") + PlainText.milliseconds(milliseconds)
    }
}

extension StatsAnswer {
    /// Whether the numbers of the same processes are added up in both answers.
    fileprivate func adds(_ other: StatsAnswer) -> Bool {
        let (now, before) = (nodes ?? [], other.nodes ?? [])
        return now.map(\.node) == before.map(\.node) && now.map(\.startedAt) == before.map(\.startedAt)
    }
}
