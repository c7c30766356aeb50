import PushServer

extension Served {
    /// Returns the apps and endpoints as tables for people.
    func text(on terminal: Terminal) -> String {
        let endpoints = [
            ["data directory", data], ["control socket", control], ["console, API, metrics", http ?? "off"],
            ["producers, with acks", router ?? "off"],
            ["producers, without acks", pull ?? "off"], ["events", publish ?? "off"],
            ["events, replay", replay ?? "off"],
        ]
        let rows = apps.map { [$0.app, $0.topic, $0.environment, $0.protocol, $0.service, $0.fault ?? "ok"] }
        return terminal.colored(
            "Carillon \(Release.version) is serving \(apps.count) \(apps.count == 1 ? "app" : "apps").", in: .bold)
            + "\n"
            + terminal.table(["app", "topic", "environment", "protocol", "push service", "credential"], rows: rows) {
                column, cell in column == 5 && cell != "ok" ? .red : nil
            } + "\n" + terminal.table(["what", "where"], rows: endpoints)
            + "\n"
    }
}
