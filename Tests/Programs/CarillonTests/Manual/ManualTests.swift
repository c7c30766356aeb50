import FoundationEssentials
import PushConfiguration
import TestSupport
import TestTraits
import Testing

@testable import carillon

/// Tests of the manual pages.
@Suite(.waits) struct ManualTests {
    private static func names(_ verbs: [Verb]) -> [String] {
        verbs.flatMap { [$0.name] + names($0.verbs) }
    }

    private static let pages = ManualPage.all(Carillon.verbs, date: "2026-01-01")

    /// Returns the page as a reader sees it.
    private func shown(_ page: ManualPage, width: Int = 80) async throws -> String {
        let directory = try TemporaryDirectory()
        let path = try directory.write(page.fileName, containing: page.text)
        let ended = try await ChildProcess.run(
            "env", ["LC_ALL=C.UTF-8", "MANWIDTH=\(width)", "man", "-l", path])
        #expect(ended.status == 0 && ended.errors == "", "\(ended.errors)")
        return ended.output
    }

    @Test func `There is a page for the command, for each verb, and for the configuration`() async throws {
        let directory = try TemporaryDirectory()
        let ended = try await ChildProcess.run(
            "env", ["SOURCE_DATE_EPOCH=1767225600", ChildProcess.carillon, "manual", "\(directory.path)/a/man"])
        #expect(ended.status == 0 && ended.errors == "")
        let files = FileManager.default
        let expected = ["carillon"] + Self.names(Carillon.verbs).map { "carillon-" + $0.replacing(" ", with: "-") }
        #expect(
            Set(try files.contentsOfDirectory(atPath: "\(directory.path)/a/man/man1"))
                == Set(expected.map { $0 + ".1" }))
        #expect(try files.contentsOfDirectory(atPath: "\(directory.path)/a/man/man5") == ["carillon.json5.5"])
        for page in Self.pages {
            let path = "\(directory.path)/a/man/man\(page.section)/\(page.fileName)"
            #expect(try String(contentsOf: URL(filePath: path), encoding: .utf8) == page.text, "\(path)")
        }
        // Pages that exist are overwritten.
        let again = try await ChildProcess.run(ChildProcess.carillon, ["manual", "\(directory.path)/a/man"])
        #expect(again.status == 0 && again.output == ended.output)
    }

    @Test func `Formatters have nothing to warn of`() async throws {
        let directory = try TemporaryDirectory()
        var files: [String] = []
        for page in Self.pages { files.append(try directory.write(page.fileName, containing: page.text)) }
        for tool in [["mandoc", "-Tlint", "-Wall"], ["groff", "-ww", "-man", "-Tutf8", "-z"]] {
            let ended = try await ChildProcess.run(tool[0], Array(tool.dropFirst()) + files)
            #expect(ended.status == 0 && ended.output == "" && ended.errors == "", "\(ended.output)\(ended.errors)")
        }
        // Without an own pipeline of man, its warnings would be those of the formatter only.
        for path in files {
            let ended = try await ChildProcess.run(
                "env",
                ["LC_ALL=C.UTF-8", "MANWIDTH=80", "man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", path])
            #expect(ended.status == 0 && ended.errors == "", "\(path): \(ended.errors)")
        }
    }

    @Test func `Each page has the sections that readers look for`() {
        for page in Self.pages {
            let sections = page.text.split(separator: "\n").filter { $0.hasPrefix(".SH ") }.map {
                $0.dropFirst(5).dropLast()
            }
            var needed = ["NAME", "SYNOPSIS", "DESCRIPTION", "EXAMPLES", "ENVIRONMENT", "SEE ALSO"]
            if page.section == 1 { needed.append("EXIT STATUS") }
            for section in needed { #expect(sections.contains { $0 == section }, "\(page.name) lacks \(section)") }
        }
    }

    @Test func `All options and their texts are on the page`() async throws {
        for verb in [SendVerb.verb, try #require(KeysAPIVerb.verb.verb("add"))] {
            let page = try #require(Self.pages.first { $0.name == ManualPage.name(of: verb) })
            let words = try await shown(page).split(whereSeparator: \.isWhitespace).joined(separator: " ")
            for option in verb.options {
                #expect(words.contains("--\(option.name)"), "\(option.name)")
                // The quotes of commands become bold text.
                let about = option.about.dropFirst().split(separator: "'").joined().split(
                    whereSeparator: \.isWhitespace)
                let text = words.split(separator: "'").joined()
                #expect(text.contains(about.joined(separator: " ")), "\(option.name): \(about.joined(separator: " "))")
            }
            for example in verb.examples {
                let command = example.command.split(whereSeparator: \.isWhitespace).joined(separator: " ")
                // A long command is on several lines.
                #expect(words.replacing(" \\ ", with: " ").contains(command), "\(command)")
            }
        }
    }

    @Test func `All settings are in the page of the configuration`() async throws {
        let page = try #require(Self.pages.first { $0.section == 5 })
        let words = try await shown(page)
        for setting in SettingDescription.all {
            let path = setting.path.replacing("apps.*", with: "apps.APP").replacing("clients.*", with: "clients.CLIENT")
            #expect(words.contains("\n       \(path)\n") || words.contains("\n       \(path) "), "\(path)")
            for bound in [setting.bounds, setting.defaultValue].compactMap({ $0 }) {
                let text = words.split(whereSeparator: \.isWhitespace).joined(separator: " ")
                #expect(text.contains("\(bound)."), "\(path): \(bound)")
            }
        }
    }

    @Test(arguments: [
        ("plain", "plain"), (".TH x", "\\&.TH x"), ("'x", "\\&\\(aqx"), ("a\\b", "a\\(rsb"), ("-o", "\\-o"),
        ("Use --json now", "Use \\fB\\-\\-json\\fP now"),
        ("see 'carillon keys show'.", "see \\fBcarillon keys show\\fP."),
        ("Apple's and 'a b'", "Apple\\(aqs and \\fBa b\\fP"), ("…", "\\[u2026]"), ("^~`", "\\(ha\\(ti\\(ga"),
        ("One. Two", "One.\nTwo"), ("a\u{1b}b\u{7}", "ab"), ("see .hidden", "see .hidden"),
    ])
    func `Prose is escaped`(_ text: String, _ roff: String) {
        #expect(Roff.prose(text) == roff)
    }

    /// A wrapped line could begin with a character that makes it a request.
    @Test(arguments: [".", "'"]) func `No wrapped line is a request`(_ character: String) {
        let text = Roff.prose(Array(repeating: "\(character)x", count: 100).joined(separator: " "))
        #expect(text.split(separator: "\n").count > 2)
        for line in text.split(separator: "\n") { #expect(line.hasPrefix("\\&"), "\(line)") }
    }

    @Test func `The date of the pages can be set`() throws {
        #expect(try ManualVerb.date("0") == "1970-01-01")
        #expect(try ManualVerb.date("1767225600") == "2026-01-01")
        #expect(throws: Failure.self) { try ManualVerb.date("today") }
        #expect(throws: Failure.self) { try ManualVerb.date("-1") }
        #expect(throws: Failure.self) { try ManualVerb.date("99999999999999999") }
    }

    @Test func `A directory that cannot be made is reported`() async throws {
        let ended = try await ChildProcess.run(ChildProcess.carillon, ["manual", "/proc/none"])
        #expect(ended.status == 77 && ended.errors.contains("/proc/none"), "\(ended.errors)")
    }
}
