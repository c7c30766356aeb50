import FoundationEssentials
import Glibc
import PushModel
import PushWire
import ServerTestSupport
import TestSupport
import TestTraits
import Testing

@testable import carillon

/// Tests of the completion scripts in real shells.
@Suite(.waits) struct CompletionTests {
    typealias Shell = CompletionVerb.Shell

    /// A directory with the scripts, and a working directory with files.
    private struct Scene {
        let directory: TemporaryDirectory
        var work: String { "\(directory.path)/work" }

        private static let driver: String = {
            var path = #filePath.split(separator: "/")
            path.removeLast()
            return "/" + path.joined(separator: "/") + "/Shells/complete.py"
        }()

        init() async throws {
            directory = try TemporaryDirectory()
            for shell in Shell.allCases {
                // The tests must not pass because a shell is missing.
                #expect(ChildProcess.path(of: shell.rawValue) != nil, "\(shell) is missing; Tools/setup installs it")
                let script = try await ChildProcess.run(ChildProcess.carillon, ["completion", shell.rawValue])
                #expect(script.status == 0 && script.errors == "")
                _ = try directory.write("script.\(shell)", containing: patient(script.output))
            }
            for name in ["work", "work/keys", "work/kept"] { mkdir("\(directory.path)/\(name)", 0o700) }
            for name in ["work/file1.json5", "work/file2.txt"] { _ = try directory.write(name, containing: "") }
        }

        /// Returns the script with a time limit for a busy machine.
        private func patient(_ script: String) -> String {
            script.replacing(" complete-words 300ms ", with: " complete-words 1h ")
        }

        /// Compares the candidates for the last word of each command line with those that are expected.
        func expect(
            _ lines: [(line: String, words: Set<String>)], in shell: Shell,
            sourceLocation: SourceLocation = #_sourceLocation
        ) async throws {
            let program = ChildProcess.carillon.split(separator: "/").dropLast().joined(separator: "/")
            let ended = try await ChildProcess.run(
                "env",
                [
                    "-u", "CARILLON_CONFIG", "-u", "CARILLON_DATA", "HOME=\(work)",
                    "PATH=/\(program):/usr/bin:/bin", "python3", "-B", Self.driver, shell.rawValue,
                    "\(directory.path)/script.\(shell)", work,
                ] + lines.map(\.line))
            #expect(
                ended.status == 0 && ended.errors == "", "\(shell): \(ended.errors)", sourceLocation: sourceLocation)
            let answers = ended.output.split(separator: "\n")
            try #require(answers.count == lines.count, sourceLocation: sourceLocation)
            for ((line, expected), answer) in zip(lines, answers) {
                let words = try JSONDecoder().decode([String].self, from: Data(answer.utf8))
                let found = words.map { word in
                    let word = word.hasSuffix("/") ? String(word.dropLast()) : word
                    return word.hasPrefix("--") ? word : Self.value(of: word, after: line)
                }
                #expect(Set(found) == expected, "\(shell): \(line)", sourceLocation: sourceLocation)
            }
        }

        /// bash shows only the part of a candidate after `=`, and the other shells the whole word.
        private static func value(of word: String, after line: String) -> String {
            guard let last = line.split(separator: " ").last, last.hasPrefix("--"), let end = last.firstIndex(of: "=")
            else { return word }
            return String(last[...end]) + word
        }
    }

    @Test(arguments: Shell.allCases) func `Verbs, options and values are completed`(_ shell: Shell) async throws {
        let scene = try await Scene()
        let lines: [(line: String, words: Set<String>)] = [
            ("carillon key", ["keys"]),
            ("carillon keys ", ["show", "convert", "curve", "vapid", "webhook", "api"]),
            ("carillon activities ", ["start", "update", "end", "show"]),
            ("carillon keys api r", ["rotate", "revoke"]), ("carillon help ke", ["keys"]),
            ("carillon help keys c", ["convert", "curve"]), ("carillon nonsense ", []),
            ("carillon send --env", ["--environment"]), ("carillon send --environment s", ["sandbox"]),
            ("carillon send --environment=s", ["--environment=sandbox"]), ("carillon send --title ", []),
            ("carillon --v", ["--version"]), ("carillon completion ", ["bash", "zsh", "fish"]),
            // An option is offered once, except those that may repeat.
            ("carillon keys api add orders --rate 5/s --r", ["--role"]),
            ("carillon keys api add --role admin --role ", ["register", "push", "observe", "operate", "admin"]),
            ("carillon keys api add --role admin --ro", ["--role"]),
            // The value of an option is not an argument, and an earlier name of an option is known.
            ("carillon devices export --to keys --for", ["--format"]),
            ("carillon devices --", ["--help"]), ("carillon zz", []),
        ]
        try await scene.expect(lines, in: shell)
    }

    @Test(arguments: Shell.allCases) func `Files and directories are completed`(_ shell: Shell) async throws {
        let scene = try await Scene()
        let files: Set<String> = ["file1.json5", "file2.txt"]
        try await scene.expect(
            [
                ("carillon check --config f", files),
                ("carillon check --config=f", Set(files.map { "--config=\($0)" })),
                ("carillon keys show file1", ["file1.json5"]), ("carillon serve --data ", ["keys", "kept"]),
            ], in: shell)
    }

    /// Completes with the data directory of a control server.
    @Test(arguments: Shell.allCases) func `Apps, devices and messages are completed`(_ shell: Shell) async throws {
        let scene = try await Scene()
        try await withPipeline { running in
            let (first, second) = (PipelineScene.id(1), PipelineScene.id(2))
            for number in [1, 2] as [UInt8] {
                running.devices.put(
                    DeviceRecord(
                        id: PipelineScene.id(number), app: PipelineScene.shop, token: PipelineScene.token(number)))
            }
            let ids = ["order:4711", "order-12", "sale", "$(touch hacked)", "`touch hacked`", "a b", "-rf", "x;ls"]
            running.events.commit(at: 0) { writer, now in
                for id in ids { writer.add(accepted: LogWriter.message(id), named: 1, at: now) }
            }
            _ = try scene.directory.write(
                "work/carillon.json5",
                containing:
                    "{ data: '\(running.control.data)', apps: { shop: { wrong: 1 }, 'news.eu': {}, 'a b': {} } }")
            let devices = Set([first, second].map(\.description))
            let lines: [(line: String, words: Set<String>)] = [
                ("carillon scale ", ["shop", "news.eu"]), ("carillon scale s", ["shop"]),
                ("carillon events --json --config carillon.json5 --prefix ", []),
                ("carillon devices list --app n", ["news.eu"]), ("carillon devices list --app=n", ["--app=news.eu"]),
                ("carillon devices show ", devices),
                ("carillon devices show \(first.description.prefix(9))", [first.description]),
                // Each argument of a verb that takes several.
                ("carillon devices remove \(first) \(second.description.prefix(9))", [second.description]),
                ("carillon messages order:4", ["order:4711"]), ("carillon messages order", ["order:4711", "order-12"]),
                // Ids that a shell would interpret are not offered.
                ("carillon messages cancel ", ["order:4711", "order-12", "sale"]),
                ("carillon trace ", devices.union(["order:4711", "order-12", "sale"])),
                ("carillon trace --config ./carillon.json5 sa", ["sale"]),
                ("carillon trace --data '\(running.control.data)' sa", ["sale"]),
            ]
            try await scene.expect(lines, in: shell)
            #expect(access("\(scene.work)/hacked", F_OK) != 0)
        }
    }

    @Test func `Without a running Carillon, nothing is printed`() async throws {
        let directory = try TemporaryDirectory()
        for verb in [["devices", "show"], ["messages", "cancel"], ["trace"], ["scale"]] {
            let ended = try await ChildProcess.run(
                ChildProcess.carillon,
                ["complete-words", "1h"] + verb
                    + ["--data", directory.path, "--config", "\(directory.path)/none", ""])
            #expect(ended.status == 0 && ended.output == "" && ended.errors == "")
        }
    }

    @Test func `A Carillon that does not answer is not waited for`() async throws {
        let directory = try TemporaryDirectory()
        let silent = try ChildProcess(
            "python3",
            [
                "-c",
                """
                import socket, sys
                door = socket.socket(socket.AF_UNIX)
                door.bind(sys.argv[1] + "/control.sock")
                door.listen()
                print("listening", flush=True)
                sys.stdin.read()
                """, directory.path,
            ])
        #expect(try await silent.line() == "listening")
        let ended = try await ChildProcess.run(
            ChildProcess.carillon, ["complete-words", "300ms", "devices", "show", "--data", directory.path, ""])
        #expect(ended.status == 0 && ended.output == "" && ended.errors == "")
        silent.send(9)
        _ = try await silent.end()
    }
}
