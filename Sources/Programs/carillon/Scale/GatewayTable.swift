import PushAPI
import PushText

/// Formats gateways and their connections for people.
struct GatewayTable {
    private let terminal: Terminal

    init(_ terminal: Terminal) {
        self.terminal = terminal
    }

    private static let heading = [
        "id", "state", "address", "age", "streams", "in flight", "waiting", "answered", "oldest", "ping", "goaway",
    ]

    func text(_ gateways: [GatewayAnswer], wereScaled: Bool = false) -> String {
        guard !gateways.isEmpty else { return "There are no gateways.\n" }
        return gateways.map { gateway in
            let scale =
                gateway.scale.min == gateway.scale.max
                ? "\(gateway.scale.min)" : "\(gateway.scale.min) to \(gateway.scale.max)"
            let allowed =
                wereScaled
                ? "now \(scale) \(scale == "1" ? "connection" : "connections")"
                : "\(scale) \(scale == "1" ? "connection" : "connections")"
            let environment = gateway.environment.map { " (\(PlainText.line($0, limit: 80)))" } ?? ""
            let place = gateway.node.map { " on node \(PlainText.line($0, limit: 64))" } ?? ""
            let all =
                gateway.clusterScale.map { scale in
                    ", of \(scale.min == scale.max ? "\(scale.min)" : "\(scale.min) to \(scale.max)") in the cluster"
                } ?? ""
            let (state, reason) = Self.parts(of: gateway.state)
            let head =
                "\(terminal.colored(PlainText.line(gateway.app, limit: 80), in: .bold))"
                + "\(environment)\(place): \(PlainText.line(state, limit: 80)), "
                + "\(allowed)\(all), \(gateway.queue) queued, room for \(gateway.credit)"
            let first = terminal.hanging(head, indent: 2) + "\n"
            let sentences = [reason.map { PlainText.line($0, limit: 400) }, gateway.fault.map { Self.sentence($0) }]
            let fault = sentences.compactMap { $0 }.map { "  \(terminal.hanging($0, indent: 2))\n" }.joined()
            let nodes = (gateway.nodes ?? []).map { "  \(terminal.hanging(Self.line($0), indent: 4))\n" }.joined()
            if gateway.connections.isEmpty { return first + nodes + "  no connections\n" + fault }
            // The head names the node if there is only one.
            let hasNodes = gateway.nodes != nil
            let table = TableDetail(isShort: terminal.width != nil, now: .current()).table(
                (hasNodes ? ["node"] : []) + Self.heading,
                rows: gateway.connections.map { connection in
                    (hasNodes ? [PlainText.line(connection.node ?? "-", limit: 64)] : []) + Self.row(connection)
                }, optional: ["waiting", "oldest", "goaway"])
            return first + nodes + fault
                + terminal.table(table.heading, rows: table.rows) { column, cell in
                    column == (hasNodes ? 2 : 1) && cell != "open" ? .yellow : nil
                }
        }.joined(separator: "\n")
    }

    /// Returns the words of a state for a table, and the sentence that explains it.
    static func parts(of state: String) -> (word: String, reason: String?) {
        guard let colon = state.firstRange(of: ": ") else { return (state, nil) }
        return (String(state[..<colon.lowerBound]), String(state[colon.upperBound...]))
    }

    private static func line(_ node: GatewayAnswer.Node) -> String {
        let name = "node \(PlainText.line(node.node, limit: 64)): "
        if let fault = node.fault { return "\(name)its connections are missing: \(PlainText.line(fault, limit: 400))" }
        let scale = node.scale.map { $0.min == $0.max ? "\($0.min)" : "\($0.min) to \($0.max)" } ?? "?"
        return "\(name)\(PlainText.line(node.state ?? "?", limit: 400)), "
            + "\(scale) \(scale == "1" ? "connection" : "connections"), \(node.queue ?? 0) queued, "
            + "room for \(node.credit ?? 0)"
    }

    private static func sentence(_ fault: GatewayAnswer.Fault) -> String {
        "\(PlainText.line(fault.message, limit: 400)) (\(PlainText.line(fault.code, limit: 80)))"
    }

    private static func row(_ connection: GatewayAnswer.Connection) -> [String] {
        [
            "\(connection.id)", PlainText.line(connection.state, limit: 80),
            PlainText.line(connection.address ?? "-", limit: 80),
            DurationText.age(connection.ageMilliseconds / 1000), connection.streamLimit.map { "\($0)" } ?? "-",
            "\(connection.inFlight)",
            "\(connection.waiting)", "\(connection.answered)", milliseconds(connection.oldestUnansweredMilliseconds),
            milliseconds(connection.lastPingMilliseconds), PlainText.line(connection.lastGoAway ?? "-", limit: 80),
        ]
    }

    private static func milliseconds(_ value: Double?) -> String { value.map { PlainText.milliseconds($0) } ?? "-" }
}
