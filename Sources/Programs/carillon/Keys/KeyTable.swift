import PushAPI
import PushLoop
import PushText
import PushTime

/// Formats API keys for people.
enum KeyTable {
    private static let heading = ["name", "key id", "state", "roles", "apps", "from", "rate", "created", "ends"]

    static func text(_ keys: [KeyAnswer], on terminal: Terminal) -> String {
        guard !keys.isEmpty else {
            return "There are no API keys. 'carillon keys api add NAME --role ROLE' creates one.\n"
        }
        return terminal.table(heading, rows: keys.map(row)) { column, cell in
            column == 2 && cell != "active" ? .yellow : nil
        }
    }

    private static func row(_ key: KeyAnswer) -> [String] {
        [
            PlainText.line(key.name, limit: 80), PlainText.line(key.keyID, limit: 60),
            PlainText.line(key.state, limit: 60),
            PlainText.line(key.roles.joined(separator: ", "), limit: 200) + (key.bearer ? " (bearer)" : ""),
            key.apps.map { PlainText.line($0.joined(separator: ", "), limit: 400) } ?? "all",
            key.from.map { PlainText.line($0.joined(separator: ", "), limit: 400) } ?? "anywhere",
            key.rate.map { "\($0)/s" } ?? "-", key.createdAt.iso8601,
            [key.expiresAt, key.overlapEndsAt, key.revokedAt].compactMap { $0 }.min()?.iso8601 ?? "-",
        ]
    }

    /// Describes the rights of a key: `push; app shop; until 2027-01-01T00:00:00.000Z`.
    static func rights(_ key: KeyAnswer) -> String {
        var parts = [PlainText.line(key.roles.joined(separator: ", "), limit: 200)]
        if let apps = key.apps {
            parts.append("app \(PlainText.line(apps.joined(separator: ", "), limit: 400))")
        }
        if let from = key.from { parts.append("from \(PlainText.line(from.joined(separator: ", "), limit: 400))") }
        if let rate = key.rate { parts.append("\(rate) requests/s") }
        if let end = key.expiresAt { parts.append("until \(end.iso8601)") }
        return parts.joined(separator: "; ")
    }
}
