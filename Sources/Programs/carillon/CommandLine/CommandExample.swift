/// A command of the help, on several lines if it is long.
enum CommandExample {
    private static let width = 78

    /// Returns the command with a line break, which a shell understands, before options that do not fit.
    static func text(_ command: String, indent: Int) -> String {
        var lines: [String] = []
        var line = ""
        for part in parts(of: command) {
            // The break needs two more columns.
            if !line.isEmpty, indent + line.count + 1 + part.count > width {
                lines.append(line + " \\")
                line = "    " + part
            } else {
                line += (line.isEmpty ? "" : " ") + part
            }
        }
        return (lines + [line]).joined(separator: "\n" + String(repeating: " ", count: indent))
    }

    /// Divides a command before its options and pipes, which are outside of quotation marks.
    private static func parts(of command: String) -> [String] {
        var parts: [String] = []
        var quote: Character?
        for word in command.split(separator: " ") {
            let isFirst = quote == nil && (word.hasPrefix("--") || word == "|")
            if isFirst || parts.isEmpty {
                parts.append(String(word))
            } else {
                parts[parts.count - 1] += " " + word
            }
            for character in word where character == "'" || character == "\"" {
                if quote == nil { quote = character } else if quote == character { quote = nil }
            }
        }
        return parts
    }
}
