import FoundationEssentials

/// What a Carillon that has started serves, and where: for people and for machines.
struct Served: Codable, Sendable {
    struct App: Codable, Sendable {
        let app: String
        let environment: String
        let topic: String
        let `protocol`: String
        let service: String
        /// Why nothing goes out for it; left out if nothing is wrong.
        let fault: String?
    }

    let data: String
    let control: String
    /// Left out where there is none.
    let http: String?
    /// Where producers hand in, and where monitors listen and ask for what they missed; left out where there is none.
    var router: String?
    var pull: String?
    var publish: String?
    var replay: String?
    let apps: [App]

    init(data: String, control: String, http: HTTPPort?, places: Pipeline.Places?, apps: [ServedStatus]) {
        router = places?.intake?.router
        pull = places?.intake?.pull
        publish = places?.events.publish
        replay = places?.events.replay
        self.data = data
        self.control = control
        self.http = http.map { "\($0.isSecure ? "https" : "http")://\($0.place)" }
        self.apps = apps.map { served in
            App(
                app: served.app.id.name, environment: served.app.environment.rawValue, topic: served.app.topic,
                protocol: served.app.gateway.wireProtocol.rawValue,
                service: "\(served.app.endpoint.host):\(served.app.endpoint.port)", fault: served.fault)
        }
    }

    var json: String { String(decoding: ControlAnswer.json(self).body, as: UTF8.self) }

    func text(_ terminal: Terminal) -> String {
        let places = [
            ["data directory", data], ["control socket", control], ["health and metrics", http ?? "off"],
            ["producers, answered", router ?? "off"],
            ["producers, without an answer", pull ?? "off"], ["events", publish ?? "off"],
            ["events, replay", replay ?? "off"],
        ]
        let rows = apps.map { [$0.app, $0.topic, $0.environment, $0.protocol, $0.service, $0.fault ?? "ok"] }
        return terminal.coloured(
            "Carillon \(Carillon.version) serves \(apps.count) \(apps.count == 1 ? "app" : "apps").", .bold)
            + "\n"
            + terminal.table(["app", "topic", "environment", "protocol", "push service", "credential"], rows) {
                column, cell in column == 5 && cell != "ok" ? .red : nil
            } + "\n" + terminal.table(["what", "where"], places)
            + "\n"
    }
}
