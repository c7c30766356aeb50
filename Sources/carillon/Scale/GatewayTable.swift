/// Gateways and their connections as people read them.
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
            let allowed = wereScaled ? "\(scale) connections from now on" : "\(scale) connections"
            let first =
                "\(terminal.coloured(Self.plain(gateway.app), .bold)) (\(Self.plain(gateway.environment))): "
                + "\(Self.plain(gateway.state, upTo: 400)), \(allowed), \(gateway.queue) queued, room for \(gateway.credit)\n"
            let fault = gateway.fault.map { "  \(Self.plain($0.message, upTo: 400)) (\(Self.plain($0.code)))\n" } ?? ""
            if gateway.connections.isEmpty { return first + "  no connections\n" + fault }
            return first + fault
                + terminal.table(Self.heading, gateway.connections.map(Self.row)) { column, cell in
                    column == 1 && cell != "open" ? .yellow : nil
                }
        }.joined(separator: "\n")
    }

    private static func row(_ connection: GatewayAnswer.Connection) -> [String] {
        [
            "\(connection.id)", plain(connection.state), plain(connection.address ?? "-"),
            age(connection.ageMilliseconds / 1000), connection.streamLimit.map { "\($0)" } ?? "-",
            "\(connection.inFlight)",
            "\(connection.waiting)", "\(connection.answered)", milliseconds(connection.oldestUnansweredMilliseconds),
            milliseconds(connection.lastPingMilliseconds), plain(connection.lastGoAway ?? "-"),
        ]
    }

    /// What a push service said may hold anything; a terminal must not obey it.
    private static func plain(_ text: String, upTo length: Int = 80) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.prefix(length).map { $0.properties.generalCategory == .control ? "?" : $0 }))
    }

    /// The two largest units: `2d 3h`, `4m 10s`.
    static func age(_ seconds: Int64) -> String {
        let units: [(String, Int64)] = [("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)]
        guard let first = units.firstIndex(where: { seconds >= $0.1 }) else { return "0s" }
        let (name, length) = units[first]
        let whole = "\(seconds / length)\(name)"
        guard first + 1 < units.count else { return whole }
        let rest = seconds % length / units[first + 1].1
        return rest == 0 ? whole : "\(whole) \(rest)\(units[first + 1].0)"
    }

    private static func milliseconds(_ value: Double?) -> String { value.map { PlainText.milliseconds($0) } ?? "-" }
}
