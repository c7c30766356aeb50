/// Wraps text between words. Escape sequences for colors do not count for the width.
package enum WrappedText {
    /// Returns at least one line. Words that are longer than a line are split.
    package static func lines(_ text: String, width: Int) -> [String] {
        guard width > 0, length(of: text) > width else { return [text] }
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ", omittingEmptySubsequences: false) {
            var word = String(word)
            if !line.isEmpty, length(of: line) + 1 + length(of: word) <= width {
                line += " " + word
                continue
            }
            if !line.isEmpty { lines.append(line) }
            while length(of: word) > width, !word.contains("\u{1b}") {
                lines.append(String(word.prefix(width)))
                word = String(word.dropFirst(width))
            }
            line = word
        }
        return line.isEmpty && !lines.isEmpty ? lines : lines + [line]
    }

    /// Returns the number of columns that a text occupies.
    package static func length(of text: String) -> Int {
        guard text.utf8.contains(0x1b) else { return text.count }
        var count = 0
        var isEscape = false
        for character in text {
            if isEscape {
                isEscape = character != "m"
            } else if character == "\u{1b}" {
                isEscape = true
            } else {
                count += 1
            }
        }
        return count
    }
}
