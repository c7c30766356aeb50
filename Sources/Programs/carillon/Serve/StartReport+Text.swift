import PushServer
import PushText

extension StartReport {
    /// Returns the apps and endpoints as tables for people.
    func text(on terminal: Terminal) -> String {
        let endpoints = [
            ["data directory", data], ["control socket", control], ["console, API, metrics", http ?? "off"],
            ["producers, with acks", router ?? "off"],
            ["producers, without acks", pull ?? "off"], ["events", publish ?? "off"],
            ["events, replay", replay ?? "off"],
        ]
        let rows = apps.map { app in
            [
                app.app, app.topic ?? "-", app.environment ?? "-", app.protocol, app.service,
                app.fault == nil ? "ok" : "unusable",
            ]
        }
        let faults = apps.compactMap { app in
            app.fault.map { "  \(terminal.hanging("\(app.app): \(PlainText.line($0, limit: 1000))", indent: 4))\n" }
        }.joined()
        return terminal.colored(
            "Carillon \(Release.version) is serving \(apps.count) \(apps.count == 1 ? "app" : "apps").", in: .bold)
            + "\n"
            + terminal.table(["app", "topic", "environment", "protocol", "push service", "credential"], rows: rows) {
                column, cell in column == 5 && cell != "ok" ? .red : nil
            } + faults + "\n" + terminal.table(["what", "where"], rows: endpoints)
            + "\n"
    }
}
