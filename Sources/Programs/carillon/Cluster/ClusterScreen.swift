import PushAPI
import PushLoop
import PushText

/// One screen of a cluster for people.
struct ClusterScreen: Sendable {
    /// The number of changes that are shown.
    private static let maxEvents = 10

    private let terminal: Terminal

    init(_ terminal: Terminal) {
        self.terminal = terminal
    }

    func text(_ answer: ClusterAnswer) -> String {
        guard let now = answer.cluster else {
            return "This Carillon is a single node: its configuration has no cluster.\n"
        }
        return [head(now), nodes(now), owners(now), health(now), events(now)].filter { !$0.isEmpty }
            .joined(separator: "\n")
    }

    private func head(_ now: ClusterView) -> String {
        let state =
            !now.isMember
            ? terminal.colored("not a member", in: .red)
            : now.isDraining ? terminal.colored("draining", in: .yellow) : terminal.colored("member", in: .green)
        let first =
            terminal.colored("Node \(PlainText.line(now.node, limit: 64))", in: .bold) + ", \(state), "
            + "\(now.at.iso8601)\n"
        guard let obstacle = now.obstacle else { return first }
        let text = terminal.hanging(PlainText.line(obstacle), indent: 2) { terminal.colored($0, in: .red) }
        return first + "  \(text)\n"
    }

    private static let heading = ["node", "state", "parts", "lease", "left", "version", "up", "address"]

    private func nodes(_ now: ClusterView) -> String {
        guard !now.nodes.isEmpty else { return "  The table of nodes has not been read yet.\n" }
        let rows = now.nodes.map { node in
            let isMember = node.state == .live || node.state == .draining
            return [
                PlainText.line(node.node, limit: 64), node.state.rawValue, "\(node.partitions)",
                PlainText.milliseconds(Double(node.leaseMilliseconds)),
                isMember ? PlainText.milliseconds(Double(node.remainingMilliseconds)) : "-",
                PlainText.line(node.version, limit: 20),
                isMember ? DurationText.age(max(0, now.at.milliseconds(since: node.startedAt)) / 1000) : "-",
                PlainText.line(node.address, limit: 80),
            ]
        }
        return terminal.table(Self.heading, rows: rows) { column, cell in
            guard column == 1, cell != "live" else { return nil }
            return cell == "dead" ? .red : .yellow
        }
    }

    /// The partitions of each owner as ranges, and those that are not served.
    private func owners(_ now: ClusterView) -> String {
        guard !now.partitions.isEmpty else { return "" }
        var rows = now.nodes.compactMap { node -> (name: String, text: String)? in
            let parts = now.partitions.filter { $0.owner == node.node && $0.state != .unowned }.map(\.part)
            return parts.isEmpty ? nil : (PlainText.line(node.node, limit: 64), PartRanges.text(parts))
        }
        let unowned = now.partitions.filter { $0.state == .unowned }.map(\.part)
        if !unowned.isEmpty { rows.append(("no owner", terminal.colored(PartRanges.text(unowned), in: .red))) }
        for state in [ClusterView.Partition.State.taking, .loading, .draining, .handing, .stopped] {
            let parts = now.partitions.filter { $0.state == state }.map(\.part)
            guard !parts.isEmpty else { continue }
            rows.append(("\(state.rawValue) here", terminal.colored(PartRanges.text(parts), in: .yellow)))
        }
        return PlainText.rows(rows, on: terminal)
    }

    private func health(_ now: ClusterView) -> String {
        var rows: [(name: String, text: String)] = []
        let age = now.renewalAgeMilliseconds.map { "\(PlainText.milliseconds(Double($0))) ago" } ?? "never"
        rows.append(
            ("renewal", "\(age), sends for \(PlainText.milliseconds(Double(now.sendsForMilliseconds))) more"))
        rows.append(
            (
                "partitions",
                "\(now.summary.partitions), \(now.summary.unowned) without owner; since its start, this node took "
                    + "\(now.summary.takeovers) and lost \(now.summary.fenced)"
            ))
        let database = now.database
        if let server = database.server {
            let standbys = database.standbys ?? ""
            rows.append(
                (
                    "database",
                    "\(PlainText.line(server, limit: 200)), "
                        + "PostgreSQL \(PlainText.line(database.version ?? "-", limit: 20)), timeline \(database.timeline.map { "\($0)" } ?? "-"), "
                        + (standbys.isEmpty
                            ? terminal.colored("no synchronous standby", in: .yellow)
                            : "standbys \(PlainText.line(standbys, limit: 200))")
                ))
        }
        if let fault = database.fault {
            rows.append(("fault", terminal.colored(PlainText.line(fault), in: .red)))
        }
        return PlainText.rows(rows, on: terminal)
    }

    private func events(_ now: ClusterView) -> String {
        PlainText.rows(
            now.events.suffix(Self.maxEvents).map { event in
                let parts = event.parts.map { ": \(PartRanges.text($0))" } ?? ""
                return (event.at.iso8601, PlainText.line(event.text + parts))
            }, on: terminal)
    }
}
