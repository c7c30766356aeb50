import Glibc

/// The format of log lines.
package enum LogFormat: Hashable, Sendable {
    /// Columns for human readers, with fields as `key=value`. Values with special characters are quoted.
    case text(colors: Bool)
    /// The text format for the journal of systemd: without the time, which the journal adds, and with the priority that
    /// it expects at the start of a line, as in the manual page sd-daemon(3).
    case journal
    /// One JSON object per line for programs.
    case json

    /// Returns the text format: for the journal if the descriptor is connected to it, and otherwise with colors if the
    /// descriptor is a terminal and `NO_COLOR` is not set.
    package static func text(for descriptor: CInt) -> LogFormat {
        if JournalStream.isJournal(descriptor: descriptor) { return .journal }
        return .text(colors: unsafe isatty(descriptor) == 1 && getenv("NO_COLOR") == nil)
    }
}

/// The content of one log line.
struct LogRecord {
    let time: WallTime
    let level: LogLevel
    let subsystem: String
    let message: String
    let fields: LogFields
}

extension LogFormat {
    func write(_ record: LogRecord, to line: inout LogLine) {
        switch self {
        case .text(let colors): writeText(record, colors: colors, to: &line)
        case .journal: writeText(record, priority: record.level.priority, to: &line)
        case .json: writeJSON(record, to: &line)
        }
    }

    // MARK: Text

    private static let cutText = " [cut]\n"
    private static let resetColor = "\u{1B}[0m"

    private func writeText(_ record: LogRecord, colors: Bool = false, priority: String? = nil, to line: inout LogLine) {
        line.reserve(Self.cutText.utf8.count)
        if let priority {
            line.append(priority)
        } else {
            line.append(time: record.time)
            line.append(" ")
        }
        let color = colors ? record.level.color : ""
        line.append(color)
        line.append(record.level.column)
        if !color.isEmpty { line.append(Self.resetColor) }
        line.append(" ")
        line.append(escaping: record.subsystem, for: .sentence)
        for _ in record.subsystem.utf8.count..<max(10, record.subsystem.utf8.count) { line.append(" ") }
        line.append(" ")
        line.append(escaping: record.message, for: .sentence)
        for (key, value) in record.fields.pairs where !line.isTruncated {
            line.append(" ")
            line.append(key.name)
            line.append("=")
            writeTextValue(value, to: &line)
        }
        line.release(Self.cutText.utf8.count)
        line.append(line.isTruncated ? Self.cutText : "\n")
    }

    private func writeTextValue(_ value: LogValue, to line: inout LogLine) {
        let text = value.plainText
        guard case .string = value, !Self.isPlain(text) else {
            if case .list = value { return writeQuoted(text, to: &line) }
            return line.append(escaping: text, for: .sentence)
        }
        writeQuoted(text, to: &line)
    }

    private func writeQuoted(_ text: String, to line: inout LogLine) {
        line.append("\"")
        line.append(escaping: text, for: .quoted)
        line.append("\"")
    }

    /// Returns whether the text contains nothing that could be read as another field.
    private static func isPlain(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "=") }
    }

    // MARK: JSON

    private static let jsonEnd = "}\n"
    private static let jsonCut = ",\"truncated\":true}\n"

    private func writeJSON(_ record: LogRecord, to line: inout LogLine) {
        // One more byte, for the quote that closes a truncated string.
        line.reserve(Self.jsonCut.utf8.count + 1)
        line.append("{\"ts\":\"")
        line.append(time: record.time)
        line.append("\",\"level\":\"")
        line.append(record.level.name)
        line.append("\"")
        writeJSONText(record.subsystem, after: ",\"subsystem\":\"", to: &line)
        writeJSONText(record.message, after: ",\"message\":\"", to: &line)
        for (key, value) in record.fields.pairs where !line.isTruncated {
            writeJSONField(value, for: key, to: &line)
        }
        line.release(Self.jsonCut.utf8.count + 1)
        line.append(line.isTruncated ? Self.jsonCut : Self.jsonEnd)
    }

    /// Writes a field. A string is truncated to fit. Any other value is written completely or left out, so that the
    /// line stays valid JSON.
    private func writeJSONField(_ value: LogValue, for key: LogKey, to line: inout LogLine) {
        if case .string(let text) = value {
            return writeJSONText(text, after: ",\"\(key.name)\":\"", to: &line)
        }
        var field = LogLine(limit: line.room)
        field.append(",\"\(key.name)\":")
        writeJSONValue(value, to: &field)
        if field.isTruncated {
            line.markTruncated()
        } else {
            line.append(field.text)
        }
    }

    private func writeJSONText(_ text: String, after start: String, to line: inout LogLine) {
        guard start.utf8.count <= line.room else { return line.markTruncated() }
        line.append(start)
        line.append(escaping: text, for: .json)
        line.release(1)
        line.append("\"")
        line.reserve(1)
    }

    private func writeJSONValue(_ value: LogValue, to line: inout LogLine) {
        switch value {
        case .string(let text): writeJSONText(text, after: "\"", to: &line)
        case .int(let number): line.append(String(number))
        case .uint(let number): line.append(String(number))
        case .double(let number): line.append(number.isFinite ? String(number) : "\"\(number)\"")
        case .bool(let flag): line.append(flag ? "true" : "false")
        case .duration(let duration): line.append(String(duration.inSeconds))
        case .bytes(let count): line.append(String(count))
        case .time(let time): line.append("\"\(time.iso8601)\"")
        case .list(let values):
            line.append("[")
            for (index, value) in values.enumerated() where !line.isTruncated {
                if index > 0 { line.append(",") }
                writeJSONValue(value, to: &line)
            }
            line.append("]")
        }
    }
}

extension LogLevel {
    /// The priority of a line in the journal: those of syslog(3).
    fileprivate var priority: String {
        switch self {
        case .trace, .debug: "<7>"
        case .info: "<6>"
        case .notice: "<5>"
        case .warning: "<4>"
        case .error: "<3>"
        }
    }

    fileprivate var column: String {
        switch self {
        case .trace: "TRACE  "
        case .debug: "DEBUG  "
        case .info: "INFO   "
        case .notice: "NOTICE "
        case .warning: "WARNING"
        case .error: "ERROR  "
        }
    }

    fileprivate var color: String {
        switch self {
        case .trace, .debug: "\u{1B}[2m"
        case .info: ""
        case .notice: "\u{1B}[36m"
        case .warning: "\u{1B}[33m"
        case .error: "\u{1B}[31m"
        }
    }
}
