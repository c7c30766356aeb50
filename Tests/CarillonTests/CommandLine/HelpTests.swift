import TestSupport
import Testing

@testable import carillon

/// Help, and the mistakes that people make with it.
@Suite(.timeLimit(.minutes(10))) struct HelpTests {
    @Test(
        arguments: [
            (["help", "nonsense"], "there is no verb 'nonsense'"), (["help", "sevre"], "did you mean 'serve'?"),
            (["help", "devices", "lst"], "did you mean 'list'?"), (["help", "keys", "nonsense"], "there is no verb"),
        ] as [([String], String)])
    func `help on what is not there is a mistake`(_ arguments: [String], _ words: String) async throws {
        let ended = try await ChildProcess.run(ChildProcess.carillon, arguments)
        #expect(ended.status == 64 && ended.output.isEmpty)
        #expect(ended.errors.contains(words), "\(ended.errors)")
    }

    @Test(
        arguments: [
            ["send", "--\u{1b}[31mx"], ["\u{1b}[31mx"], ["devices", "\u{1b}[31mx"], ["version", "\u{1b}[31mx"],
            ["scale", "\u{1b}[31mx", "--connections", "1"], ["messages", "--limit", "\u{1b}[31mx"],
        ]) func `a terminal does not obey what was typed`(_ arguments: [String]) async throws
    {
        let ended = try await ChildProcess.run(ChildProcess.carillon, arguments)
        #expect(ended.status == 64 && ended.errors.contains("?[31mx"), "\(ended.errors)")
        #expect(!(ended.output + ended.errors).contains("\u{1b}"))
    }

    @Test func `serve says what its exit codes mean`() async throws {
        let help = try await ChildProcess.run(ChildProcess.carillon, ["serve", "--help"]).output
        for code in ["  0   ", "  1   ", "  64  ", "  69  ", "  75  ", "  77  ", "  78  "] {
            #expect(help.contains("\n\(code)"), "\(code)")
        }
    }

    @Test func `where to write is called the same everywhere, and what it was called is taken`() throws {
        let export = try #require(Carillon.verbs.first { $0.name == "devices" }?.verb("export"))
        #expect(export.options.contains { $0.name == "out" } && !export.options.contains { $0.name == "to" })
        #expect(try Arguments(["--to", "a.csv"], of: export).text("out") == "a.csv")
        #expect(!export.help.contains("--to "))
    }

    @Test(arguments: ["producer.py", "subscriber.py"])
    func `the examples say how they are called`(_ name: String) async throws {
        var path = #filePath.split(separator: "/")
        path.removeLast(4)
        let example = "/" + path.joined(separator: "/") + "/Tools/examples/\(name)"
        let ended = try await ChildProcess.run(try await PythonScene.interpreter(), [example])
        #expect(ended.status == 64 && ended.output.contains("\(name) "), "\(ended.output)\(ended.errors)")
        #expect(!ended.errors.contains("Traceback"))
    }
}
