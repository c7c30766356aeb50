import PushText

/// Text in the language of manual pages, for groff and mandoc.
struct Roff {
    private(set) var text = ""

    mutating func heading(_ title: String) {
        text += ".SH \(Self.quoted(title))\n"
    }

    mutating func subheading(_ title: String) {
        text += ".SS \(Self.quoted(title))\n"
    }

    /// Adds paragraphs, which empty lines separate.
    mutating func paragraphs(_ content: some StringProtocol) {
        for part in String(content).split(separator: "\n\n") {
            separate()
            text += Self.prose(String(part)) + "\n"
        }
    }

    /// Begins a paragraph. After a heading, and at the start of the page, there is nothing to separate.
    mutating func separate() {
        let last = text.split(separator: "\n").last ?? ""
        guard !last.hasPrefix(".SH") && !last.hasPrefix(".SS") else { return }
        text += ".PP\n"
    }

    /// Adds an item of a list.
    ///
    /// - Parameter tag: Text that is already in this language.
    mutating func item(_ tag: String, about: String) {
        text += ".TP\n\(tag)\n\(Self.prose(about))\n"
    }

    /// Adds lines that are neither filled nor wrapped.
    mutating func literal(_ lines: String) {
        separate()
        text += ".RS 4\n.nf\n"
        for line in lines.split(separator: "\n", omittingEmptySubsequences: false) { text += Self.line(line) + "\n" }
        text += ".fi\n.RE\n"
    }

    mutating func add(_ line: String) {
        text += line + "\n"
    }

    static func bold(_ content: some StringProtocol) -> String { "\\fB\(escaped(content))\\fP" }

    static func italic(_ content: some StringProtocol) -> String { "\\fI\(escaped(content))\\fP" }

    /// Returns an argument of a request.
    static func quoted(_ content: String) -> String {
        "\"" + escaped(content).replacing("\"", with: "\\(dq") + "\""
    }

    /// Returns prose with one sentence on each line, as readers of manual sources expect. Commands in quotes and options
    /// are set in bold.
    static func prose(_ content: String) -> String {
        var result = ""
        for word in content.split(whereSeparator: { $0 == " " || $0 == "\n" }) {
            let isEnd = result.hasSuffix(". ") || result.hasSuffix("? ")
            if isEnd, word.first?.isUppercase == true || word.hasPrefix("'") || word.hasPrefix("`") {
                result.removeLast()
                result += "\n"
            }
            result += word + " "
        }
        return result.split(separator: "\n").map { filled(marked($0.drop { $0 == " " })) }.joined(separator: "\n")
    }

    /// A text in which some parts are bold.
    private struct Marked {
        var parts: [(text: String, isBold: Bool)] = []
    }

    /// Finds commands in quotes or backticks, and options.
    private static func marked(_ content: some StringProtocol) -> Marked {
        var marked = Marked()
        var rest = Substring(content)
        while rest.last == " " { rest.removeLast() }
        var plain = ""
        func isBoundary(_ character: Character?) -> Bool { character.map { " (,".contains($0) } ?? true }
        while let first = rest.first {
            var bold: Substring?
            var length = 0
            if isBoundary(plain.last), first == "`" || first == "'" {
                // A quotation ends at a mark that no letter follows: the one in "app's" does not end it.
                let inner = rest.dropFirst()
                var end = inner.startIndex
                while end < inner.endIndex {
                    let next = inner.index(after: end)
                    if inner[end] == first, next == inner.endIndex || !inner[next].isLetter { break }
                    end = next
                }
                if end < inner.endIndex {
                    bold = inner[..<end]
                    length = inner.distance(from: inner.startIndex, to: end) + 2
                }
            } else if isBoundary(plain.last), rest.hasPrefix("--"), rest.dropFirst(2).first?.isLetter == true {
                let option = rest.prefix { $0 == "-" || $0.isLetter || $0.isNumber }
                (bold, length) = (option, option.count)
            }
            if let bold {
                marked.parts.append((plain, false))
                marked.parts.append((String(bold), true))
                plain = ""
                rest = rest.dropFirst(length)
            } else {
                plain.append(first)
                rest = rest.dropFirst()
            }
        }
        marked.parts.append((plain, false))
        return marked
    }

    private static func filled(_ content: Marked) -> String {
        filled(content.parts.map { $0.isBold ? bold($0.text) : escaped($0.text) }.joined())
    }

    /// Returns source lines of at most 80 bytes, if words allow that.
    ///
    /// - Parameter text: Text that is already in this language.
    static func filled(_ text: String) -> String {
        WrappedText.lines(text, width: 78).map { protected($0) }.joined(separator: "\n")
    }

    static func line(_ content: some StringProtocol) -> String { protected(escaped(content)) }

    /// Protects a line that begins like a request.
    private static func protected(_ line: String) -> String {
        line.hasPrefix(".") || line.hasPrefix("\\(aq") || line.hasPrefix("'") ? "\\&" + line : line
    }

    /// Returns text without characters that are special, in ASCII.
    static func escaped(_ content: some StringProtocol) -> String {
        var result = ""
        for scalar in content.unicodeScalars {
            switch scalar {
            case "\\": result += "\\(rs"
            case "-": result += "\\-"
            case "'": result += "\\(aq"
            case "`": result += "\\(ga"
            case "^": result += "\\(ha"
            case "~": result += "\\(ti"
            case "\u{20}"..."\u{7e}", "\n": result.unicodeScalars.append(scalar)
            case "\u{7f}"...:
                let digits = String(scalar.value, radix: 16, uppercase: true)
                result += "\\[u\(String(repeating: "0", count: max(0, 4 - digits.count)))\(digits)]"
            default: break
            }
        }
        return result
    }
}
