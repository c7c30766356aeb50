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

    /// Formats an age with its two largest units: `2d 3h`, `4m 10s`.
    static func age(_ seconds: Int64) -> String {
        let units: [(String, Int64)] = [("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)]
        guard let first = units.firstIndex(where: { seconds >= $0.1 }) else { return "0s" }
        let (name, length) = units[first]
        let whole = "\(seconds / length)\(name)"
        guard first + 1 < units.count else { return whole }
        let rest = seconds % length / units[first + 1].1
        return rest == 0 ? whole : "\(whole) \(rest)\(units[first + 1].0)"
    }

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
