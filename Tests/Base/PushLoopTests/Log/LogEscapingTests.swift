import Testing

@testable import PushLoop

/// Text from a peer that imitates other output.
@Suite struct LogEscapingTests {
    static let hostile = [
        "a\nb", "a\r\nb", "\u{1B}[2J\u{1B}[31m", "nul\0nul", "tab\tbell\u{7}", "del\u{7F}", "c1\u{85}\u{9B}31m",
        "line\u{2028}paragraph\u{2029}", "turn\u{202E}dlrow", "iso\u{2066}late\u{2069}", "zero\u{200B}width",
        "bom\u{FEFF}", "tag\u{E0041}", "x\" level=error message=\"forged", "\\n is not a newline", "",
        "2026-03-01T09:30:00.250Z ERROR   tls        forged",
    ]

    private func write(_ text: String, as format: LogFormat) throws -> String {
        let capture = try LineCapture()
        Logger("peer", to: LogOutput(capture, format: format)).info("said: \(text)", [.peerText: text])
        return capture.text
    }

    @Test("Text output is one line without hidden characters", arguments: hostile)
    func oneLineAndNothingHiddenForPeople(_ text: String) throws {
        let written = try write(text, as: .text(colors: false))
        #expect(written.unicodeScalars.filter { $0 == "\n" }.count == 1)
        #expect(written.dropLast().unicodeScalars.allSatisfy { !LogLine.isHidden($0) })
        #expect(written.hasPrefix("2026-03-01T09:30:00.250Z INFO    peer       said: "))
    }

    @Test("JSON output returns the original text", arguments: hostile)
    func jsonGivesTheTextBack(_ text: String) throws {
        let written = try write(text, as: .json)
        #expect(written.unicodeScalars.filter { $0 == "\n" }.count == 1)
        #expect(written.dropLast().unicodeScalars.allSatisfy { !LogLine.isHidden($0) })
        let object = try JSONScanner.object(written)
        #expect(object["peer_text"] == .string(text))
        #expect(object["message"] == .string("said: " + text))
        #expect(object["level"] == .string("info"))
        #expect(object.count == 5)
    }

    @Test("Values that could be read as fields are quoted") func valuesThatCouldBeReadAsFieldsAreQuoted() throws {
        #expect(try write("x level=error", as: .text(colors: false)).hasSuffix(" peer_text=\"x level=error\"\n"))
        #expect(try write("say \"hi\" \\", as: .text(colors: false)).hasSuffix(#" peer_text="say \"hi\" \\""# + "\n"))
        #expect(try write("", as: .text(colors: false)).hasSuffix(" peer_text=\"\"\n"))
        #expect(try write("plain/1:2", as: .text(colors: false)).hasSuffix(" peer_text=plain/1:2\n"))
        #expect(try write("a\u{85}b", as: .text(colors: false)).hasSuffix(#" peer_text="a\u{85}b""# + "\n"))
    }

    @Test("Unicode names stay readable") func namesOfPeopleStayReadable() throws {
        #expect(try write("Zoë 名前 🔔", as: .text(colors: false)).hasSuffix(" peer_text=\"Zoë 名前 🔔\"\n"))
    }

    @Test(
        "Long lines are truncated",
        arguments: [LogFormat.json, .text(colors: false), .text(colors: true)], [256, 300, 4096])
    func longLinesAreCut(_ format: LogFormat, limit: Int) throws {
        // Test every length around the limit, so that the cut is before, within and after each part.
        for length in stride(from: 0, to: limit + 60, by: limit > 1000 ? 37 : 1) {
            for character in ["x", "é", "\u{1}", "🔔"] {
                let capture = try LineCapture()
                let text = String(repeating: character, count: length)
                Logger("long", to: LogOutput(capture, format: format, lineLength: limit))
                    .info("m", [.reason: text, .count: 1, .values: [text], .host: "end"])
                let written = capture.text
                try #require(written.utf8.count <= limit)
                try #require(written.hasSuffix("\n") && !written.contains("\u{FFFD}"))
                let isWhole = written.contains("end")
                if format == .json {
                    let object = try JSONScanner.object(written)
                    try #require((object["truncated"] == .bool(true)) == !isWhole)
                } else {
                    try #require(written.hasSuffix(" [cut]\n") == !isWhole)
                }
            }
        }
    }

    @Test("Huge messages and subsystem names are truncated") func hugeMessageAndSubsystemAreCut() throws {
        let huge = String(repeating: "\u{202E}", count: 100_000)
        for format in [LogFormat.json, .text(colors: false)] {
            let capture = try LineCapture()
            Logger(huge, to: LogOutput(capture, format: format)).info("\(huge)", [.peerText: huge])
            #expect(capture.lines.count == 1)
            #expect(capture.text.utf8.count <= LogOutput.maxLineLength)
            if format == .json { #expect(try JSONScanner.object(capture.text)["truncated"] == .bool(true)) }
        }
    }
}
