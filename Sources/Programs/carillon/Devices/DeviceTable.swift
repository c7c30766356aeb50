import PushAPI
import PushLoop
import PushModel
import PushText

/// Formats devices for people.
struct DeviceTable {
    private let terminal: Terminal

    init(_ terminal: Terminal) {
        self.terminal = terminal
    }

    /// Returns all properties of a device.
    func one(_ device: DeviceAnswer) -> String {
        var rows: [(name: String, text: String)] = [
            ("device", PlainText.line(device.id)), ("app", PlainText.line(device.app)), ("state", state(device)),
            ("user", PlainText.line(device.user ?? "-")),
            ("tags", device.tags.isEmpty ? "-" : PlainText.line(device.tags.joined(separator: ", "), limit: 10_000)),
            ("locale", PlainText.line(device.locale ?? "-")), ("platform", PlainText.line(device.platform ?? "-")),
            ("app version", PlainText.line(device.appVersion ?? "-")),
            ("registered", Self.time(device.registeredAt) ?? "never: known only from the push service"),
            ("last seen", Self.time(device.seenAt) ?? "-"),
        ]
        if let kind = device.kind { rows.append(("kind", PlainText.line(kind))) }
        if let activity = device.activity { rows.append(("activity", PlainText.line(activity))) }
        if let type = device.activityType { rows.append(("activity type", PlainText.line(type))) }
        if let installation = device.installation { rows.append(("installation", PlainText.line(installation))) }
        if let zone = device.timeZone { rows.append(("time zone", PlainText.line(zone))) }
        if let time = Self.time(device.deactivatedAt) { rows.append(("deactivated", time)) }
        if let reason = device.reason { rows.append(("because", ReasonDescription.deactivation(reason))) }
        return PlainText.rows(rows, on: terminal)
    }

    private func state(_ device: DeviceAnswer) -> String {
        device.active
            ? terminal.colored("active", in: .green) : terminal.colored("inactive: nothing is sent to it", in: .yellow)
    }

    private static let heading = ["device", "app", "state", "user", "platform", "last seen", "tags"]

    func list(_ devices: [DeviceAnswer], in detail: TableDetail) -> String {
        let rows = devices.map { device in
            [
                detail.id(PlainText.line(device.id)), PlainText.line(device.app), device.active ? "active" : "inactive",
                PlainText.line(device.user ?? "-", limit: 40), PlainText.line(device.platform ?? "-", limit: 20),
                detail.time(device.seenAt ?? device.registeredAt),
                device.tags.isEmpty ? "-" : PlainText.line(device.tags.joined(separator: ", "), limit: 60),
            ]
        }
        let table = detail.table(Self.heading, rows: rows, optional: ["user", "platform", "tags"])
        return terminal.table(table.heading, rows: table.rows) { column, cell in
            column == 2 && cell == "inactive" ? .yellow : nil
        }
    }

    static func time(_ time: WallTime?) -> String? { time?.iso8601 }
}
