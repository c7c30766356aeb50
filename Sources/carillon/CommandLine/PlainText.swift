import PushWire

/// What verbs print for people: among it text that somebody else chose, which a terminal must not obey.
enum PlainText {
    /// One line: no control characters, no endless length.
    static func line(_ text: String, limit: Int = 500) -> String {
        let scalars = text.unicodeScalars.prefix(limit).map { scalar -> Unicode.Scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: "?"
            default: scalar
            }
        }
        return String(String.UnicodeScalarView(scalars)) + (text.unicodeScalars.count > limit ? "…" : "")
    }

    /// Several lines of any length, without control characters: what a person typed, and what came of it.
    static func lines(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line(String($0), limit: .max) }
            .joined(separator: "\n")
    }

    /// `0.8ms`, `250ms`, `12s`.
    static func milliseconds(_ value: Double) -> String {
        if value >= 10_000 { return "\(Int64(min(value / 1000, 1e15)))s" }
        if value >= 10 { return "\(Int64(value.rounded()))ms" }
        return "\((value * 10).rounded() / 10)ms"
    }

    static func milliseconds(_ time: Duration) -> String { milliseconds(time / .milliseconds(1)) }

    /// Names and what stands for them, aligned.
    static func rows(_ rows: [(name: String, text: String)], on terminal: Terminal) -> String {
        let width = rows.map(\.name.count).max() ?? 0
        return rows.map { row in
            let text = terminal.hanging(row.text, indent: width + 4)
            return "  \(terminal.coloured(Terminal.padded(row.name, to: width), .dim))  \(text)\n"
        }.joined()
    }
}

/// One object on one line, for machines.
enum MachineLine {
    static func text(_ members: [String: JSONValue?]) -> String {
        String(decoding: JSONValue.object(members.compactMapValues { $0 }).bytes, as: UTF8.self) + "\n"
    }
}

extension JSONValue {
    static func text(_ text: String?) -> JSONValue? { text.map { .string($0) } }
    static func texts(_ texts: [String]) -> JSONValue { .array(texts.map { .string($0) }) }
    static func milliseconds(_ time: Duration?) -> JSONValue? {
        time.map { .number(($0 / .microseconds(1)).rounded() / 1000) }
    }
}
