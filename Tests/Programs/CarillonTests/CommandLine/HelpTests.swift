import FoundationEssentials
import TestSupport
import TestTraits
import Testing

@testable import carillon

/// Tests of the help and of usage errors.
@Suite(.waits) struct HelpTests {
    @Test(
        arguments: [
            (["help", "nonsense"], "unknown verb 'nonsense'"), (["help", "sevre"], "did you mean 'serve'?"),
            (["help", "devices", "lst"], "did you mean 'list'?"), (["help", "keys", "nonsense"], "unknown verb"),
        ] as [([String], String)])
    func `Help for an unknown verb is an error`(_ arguments: [String], _ words: String) async throws {
        let ended = try await ChildProcess.run(ChildProcess.carillon, arguments)
        #expect(ended.status == 64 && ended.output.isEmpty)
        #expect(ended.errors.contains(words), "\(ended.errors)")
    }

    @Test(
        arguments: [
            ["send", "--\u{1b}[31mx"], ["\u{1b}[31mx"], ["devices", "\u{1b}[31mx"], ["version", "\u{1b}[31mx"],
            ["scale", "\u{1b}[31mx", "--connections", "1"], ["messages", "--limit", "\u{1b}[31mx"],
        ]) func `Control characters in arguments do not reach the terminal`(_ arguments: [String]) async throws
    {
        let ended = try await ChildProcess.run(ChildProcess.carillon, arguments)
        #expect(ended.status == 64 && ended.errors.contains("?[31mx"), "\(ended.errors)")
        #expect(!(ended.output + ended.errors).contains("\u{1b}"))
    }

    @Test func `The help of serve explains its exit codes`() async throws {
        let help = try await ChildProcess.run(ChildProcess.carillon, ["serve", "--help"]).output
        for code in ["  0   ", "  1   ", "  64  ", "  69  ", "  75  ", "  77  ", "  78  "] {
            #expect(help.contains("\n\(code)"), "\(code)")
        }
    }

    private static func commands(_ verbs: [Verb]) -> [[String]] {
        verbs.flatMap { [$0.name.split(separator: " ").map(String.init)] + commands($0.verbs) }
    }

    @Test(arguments: commands(Carillon.verbs))
    func `The help of a verb fits 80 columns`(_ words: [String]) async throws {
        let help = try await ChildProcess.run(ChildProcess.carillon, words + ["--help"]).output
        let lines = help.split(separator: "\n")
        for line in lines { #expect(line.count <= 80, "\(line)") }
        #expect(lines.count > 2)
    }

    @Test func `A long command is divided before options, and not within quotation marks`() {
        let long = "carillon send --via tcp://push.example.com:5560 --server-key 'a --b c' --app shop --title Hello"
        #expect(
            CommandExample.text(long, indent: 2) == """
                carillon send --via tcp://push.example.com:5560 --server-key 'a --b c' \\
                      --app shop --title Hello
                """)
        #expect(CommandExample.text("carillon stats --json | jq .x", indent: 2) == "carillon stats --json | jq .x")
    }

    @Test func `The option for the output file is --out, and its earlier name is accepted`() throws {
        let export = try #require(Carillon.verbs.first { $0.name == "devices" }?.verb("export"))
        #expect(export.options.contains { $0.name == "out" } && !export.options.contains { $0.name == "to" })
        #expect(try Arguments(["--to", "a.csv"], of: export).text("out") == "a.csv")
        #expect(!export.help.contains("--to "))
    }

    @Test func `What follows two hyphens is no option`() async throws {
        let erase = try #require(Carillon.verbs.first { $0.name == "users" }?.verb("erase"))
        for name in ["-ada", "--ada", "-h", "--help", "--"] {
            let arguments = try Arguments(["--app", "shop", "--", name], of: erase)
            #expect(arguments.word("USER") == name && arguments.text("app") == "shop")
        }
        #expect(throws: Failure.self) { _ = try Arguments(["-ada"], of: erase) }
        #expect(throws: Failure.self) { _ = try Arguments(["--"], of: erase) }
        #expect(throws: Failure.self) { _ = try Arguments(["--", "a", "--json"], of: erase) }
        // No Carillon runs there.
        let ended = try await ChildProcess.run(
            ChildProcess.carillon, ["users", "erase", "--config", "/none.json5", "--", "-h"])
        #expect(ended.status != 0 && !ended.output.contains("usage:"))
    }

    private static func all(_ verbs: [Verb]) -> [Verb] { verbs.flatMap { [$0] + all($0.verbs) } }

    /// An option whose value is an unset variable must not select everything.
    @Test func `An empty value of an option or a word is refused, except where it is a text`() throws {
        var allowed: Set<String> = []
        for verb in Self.all(Carillon.verbs) {
            for option in verb.options where option.value != nil {
                if option.mayBeEmpty { allowed.insert("\(verb.name) --\(option.name)") }
                for given in [["--\(option.name)", ""], ["--\(option.name)="]] {
                    let words = verb.words.filter { !$0.isOptional }.map { _ in "x" }
                    let result = Result { try Arguments(words + given, of: verb) }
                    switch result {
                    case .success: #expect(option.mayBeEmpty, "\(verb.name) --\(option.name)")
                    case .failure(let failure):
                        #expect("\(failure)".contains("the value of '--\(option.name)' is empty"), "\(failure)")
                    }
                }
            }
            for index in verb.words.indices {
                let words = verb.words[..<index].map { _ in "x" } + [""]
                if verb.words[index].mayBeEmpty {
                    allowed.insert("\(verb.name) \(verb.words[index].name)")
                } else {
                    #expect(throws: Failure.self) { _ = try Arguments(words, of: verb) }
                }
            }
        }
        #expect(allowed == ["send --title", "send --subtitle", "send --body"], "\(allowed)")
    }

    @Test(arguments: ["producer.py", "subscriber.py"])
    func `The examples print their usage`(_ name: String) async throws {
        var path = #filePath.split(separator: "/")
        path.removeLast(5)
        let example = "/" + path.joined(separator: "/") + "/Tools/examples/\(name)"
        let ended = try await ChildProcess.run(try await PythonScene.interpreter(), [example])
        #expect(ended.status == 64 && ended.output.contains("\(name) "), "\(ended.output)\(ended.errors)")
        #expect(!ended.errors.contains("Traceback"))
    }
}
