import PushText
import PushWire

/// Durations and rows as verbs print them for people.
extension PlainText {
    /// Formats a duration: `0.8ms`, `250ms`, `12s`.
    static func milliseconds(_ value: Double) -> String {
        if value >= 10_000 { return "\(Int64(min(value / 1000, 1e15)))s" }
        if value >= 10 { return "\(Int64(value.rounded()))ms" }
        return "\((value * 10).rounded() / 10)ms"
    }

    static func milliseconds(_ time: Duration) -> String { milliseconds(time / .milliseconds(1)) }

    /// Returns one line per row; the texts are aligned behind the names.
    static func rows(_ rows: [(name: String, text: String)], on terminal: Terminal) -> String {
        let width = rows.map(\.name.count).max() ?? 0
        return rows.map { row in
            let text = terminal.hanging(row.text, indent: width + 4)
            return "  \(terminal.colored(Terminal.padded(row.name, to: width), in: .dim))  \(text)\n"
        }.joined()
    }
}

/// The JSON output of a verb: one object on one line.
enum MachineLine {
    static func text(_ members: [String: JSONValue?]) -> String {
        String(decoding: JSONValue.object(members.compactMapValues { $0 }).bytes, as: UTF8.self) + "\n"
    }
}
