import FoundationEssentials
import Glibc
import PushConfiguration
import PushModel
import PushServer
import TestSupport
import TestTraits
import Testing

@testable import carillon

/// Tests of the verbs that read a data directory on which no Carillon runs.
@Suite(.waits) struct StoppedDirectoryTests {
    private static let token = String(repeating: "ab", count: 32)

    /// A data directory with a message and a device.
    private struct Scene {
        let serving: ServeScene
        let file: String
        let device: String
        var data: String { "\(serving.directory.path)/data" }

        /// - Parameter signal: The signal that ends Carillon.
        init(endedBy signal: CInt) async throws {
            serving = try await ServeScene()
            file = try serving.configure(serving.app("shop"))
            let serve = try await RunningServe(file)
            let added = try await ChildProcess.run(
                ChildProcess.carillon, ["devices", "add", "shop", token, "--user", "ada", "--config", file, "--json"])
            device = added.output.split(separator: "\"").map(String.init).first { DeviceID($0) != nil } ?? ""
            let sent = try await ChildProcess.run(
                ChildProcess.carillon,
                [
                    "send", "--via", serve.served.router ?? "", "--app", "shop", "--user", "ada", "--title", "Hello",
                    "--id", "order-1",
                ])
            #expect(sent.status == 0, "\(sent.errors)")
            // Its outcome is stored when it is in the log.
            while try await Self.run(["messages", "order-1", "--json", "--config", file]).output
                .contains("\"completed\"") == false
            {}
            serve.process.send(signal)
            _ = try await serve.process.end()
        }

        static func run(_ arguments: [String], prefix: [String] = []) async throws -> ChildProcess.Ended {
            try await ChildProcess.run(
                "env",
                ["-u", "CARILLON_CONFIG", "-u", "CARILLON_DATA"] + prefix + [ChildProcess.carillon] + arguments)
        }

        /// The names, contents, modes and times of all files.
        func content() async throws -> String {
            let ended = try await ChildProcess.run(
                "sh",
                [
                    "-c",
                    "cd \"$0\" && find . -type f -exec sha256sum {} + | sort && find . -printf '%p %s %m %T@ %C@ %i\\n' | sort",
                    data,
                ])
            #expect(ended.status == 0)
            return ended.output
        }

        /// The commands, with a part of their output.
        var commands: [(words: [String], output: String)] {
            [
                (["messages"], "order-1"), (["messages", "order-1"], "completed"), (["trace", "order-1"], device),
                (["events"], "order-1"), (["events", "--since", "0", "--json"], "\"seq\":1,"),
                (["devices", "list"], "ada"), (["devices", "show", device], "ada"),
                (["devices", "show", "shop", token], device), (["devices", "export", "--format", "jsonl"], token),
            ]
        }
    }

    @Test(arguments: [SIGTERM, SIGKILL])
    func `A stopped directory is read and no byte of it is changed`(_ signal: CInt) async throws {
        let scene = try await Scene(endedBy: signal)
        let before = try await scene.content()
        if signal == SIGKILL { #expect(before.contains("ledger.db-wal")) }
        for (words, output) in scene.commands {
            for place in [["--config", scene.file], ["--data", scene.data]] {
                let ended = try await Scene.run(words + place)
                #expect(ended.status == 0 && ended.output.contains(output), "\(words): \(ended.errors)")
                #expect(ended.errors.contains("no Carillon runs on \(scene.data)"), "\(words): \(ended.errors)")
            }
        }
        #expect(try await scene.content() == before)
        // Carillon starts on it as if nothing had happened.
        #expect(try await RunningServe(scene.file).stop().status == 0)
    }

    @Test func `It may be on a read-only file system, and belong to another user`() async throws {
        let scene = try await Scene(endedBy: SIGKILL)
        chmod(scene.serving.directory.path, 0o755)
        chmod(scene.data, 0o755)
        for name in try FileManager.default.contentsOfDirectory(atPath: scene.data) {
            chmod("\(scene.data)/\(name)", 0o644)
        }
        // The directory for temporary files of this process may be closed to others.
        let copies = "\(scene.serving.directory.path)/copies"
        try FileManager.default.createDirectory(atPath: copies, withIntermediateDirectories: false)
        chmod(copies, 0o777)
        let before = try await scene.content()
        let isRoot = geteuid() == 0
        let readOnly = "mount --bind \"$0\" \"$0\" && mount -o remount,ro,bind \"$0\" && exec \"$@\""
        let prefixes = [
            ["unshare", isRoot ? "-m" : "-rm", "sh", "-c", readOnly, scene.data],
            isRoot ? ["env", "TMPDIR=\(copies)", "setpriv", "--reuid", "65534", "--clear-groups"] : [],
        ]
        for prefix in prefixes {
            for (words, output) in scene.commands {
                let ended = try await Scene.run(words + ["--data", scene.data], prefix: prefix)
                #expect(ended.status == 0 && ended.output.contains(output), "\(words): \(ended.errors)")
            }
        }
        #expect(try await scene.content() == before)
        // A user who may not read is told so.
        chmod("\(scene.data)/ledger.db", 0)
        if isRoot {
            let ended = try await Scene.run(["messages", "--data", scene.data], prefix: prefixes[1])
            #expect(ended.status == 77 && ended.errors.contains("ledger.db: Permission denied"), "\(ended.errors)")
        }
    }

    @Test func `A damaged file is reported by its own name`() async throws {
        let scene = try await Scene(endedBy: SIGTERM)
        _ = try scene.serving.directory.write("data/ledger.db", containing: String(repeating: "x", count: 8192))
        let before = try await scene.content()
        let ended = try await Scene.run(["messages", "--data", scene.data])
        #expect(
            ended.status == 1 && ended.output == "" && ended.errors.contains("\(scene.data)/ledger.db"),
            "\(ended.errors)")
        #expect(ended.errors.contains("damaged") || ended.errors.contains("not a database"), "\(ended.errors)")
        #expect(try await scene.content() == before)
    }

    @Test func `A directory whose Carillon does not answer is not read`() async throws {
        let scene = try await Scene(endedBy: SIGTERM)
        let holder = try ChildProcess(
            "flock", ["-F", "\(scene.data)/carillon.lock", "sh", "-c", "echo locked; exec sleep 3600"])
        #expect(try await holder.line() == "locked")
        let ended = try await Scene.run(["messages", "--data", scene.data])
        #expect(ended.status == 75 && ended.output == "" && ended.errors.contains("a Carillon runs"), "\(ended.errors)")
        holder.send(9)
        _ = try await holder.end()
    }

    @Test func `The copy is removed, and without room for it there is an error`() async throws {
        let scene = try await Scene(endedBy: SIGKILL)
        let place = "\(scene.serving.directory.path)/tmp"
        mkdir(place, 0o700)
        let ended = try await Scene.run(["messages", "--data", scene.data], prefix: ["TMPDIR=\(place)"])
        #expect(ended.status == 0 && ended.output.contains("order-1"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: place) == [])
        let full = "mount -t tmpfs -o size=64k tmpfs \"$0\" && TMPDIR=\"$0\" exec \"$@\""
        let refused = try await Scene.run(
            ["messages", "--data", scene.data],
            prefix: ["unshare", geteuid() == 0 ? "-m" : "-rm", "sh", "-c", full, place])
        #expect(refused.status == 1 && refused.errors.contains("set TMPDIR"), "\(refused.errors)")
    }

    @Test func `It is read without room for a copy of it`() async throws {
        let scene = try await Scene(endedBy: SIGTERM)
        // SQLite does not look behind the last page.
        #expect(truncate("\(scene.data)/ledger.db", 256 << 20) == 0)
        let before = try await scene.content()
        let place = "\(scene.serving.directory.path)/tmp"
        mkdir(place, 0o700)
        let small = "mount -t tmpfs -o size=4m tmpfs \"$0\" && TMPDIR=\"$0\" exec \"$@\""
        for (words, output) in scene.commands {
            let ended = try await Scene.run(
                words + ["--data", scene.data],
                prefix: ["unshare", geteuid() == 0 ? "-m" : "-rm", "sh", "-c", small, place])
            #expect(ended.status == 0 && ended.output.contains(output), "\(words): \(ended.errors)")
        }
        #expect(try await scene.content() == before)
    }

    @Test func `A Carillon that starts while it is read is noticed`() async throws {
        let scene = try await Scene(endedBy: SIGKILL)
        let copy = try StoppedCopy(of: scene.data, in: scene.serving.directory.path)
        defer { copy.remove() }
        try copy.fill()
        try copy.checkSource()
        // It moves the log to the database when it ends.
        #expect(try await RunningServe(scene.file).stop().status == 0)
        let error = await #expect(throws: StartError.self) { _ = try await StoppedReader.open(copy) }
        #expect(error?.code == .tryAgain)
        #expect(
            error?.description
                == "the files of \(scene.data) have changed while they were read: a Carillon has started; try again")
    }

    @Test func `Verbs that wait or change need a running Carillon`() async throws {
        let scene = try await Scene(endedBy: SIGTERM)
        for words in [
            ["events", "--follow"], ["devices", "remove", scene.device], ["messages", "cancel", "order-1"],
        ] {
            let ended = try await Scene.run(words + ["--data", scene.data])
            #expect(ended.status == 69 && ended.errors.contains("no Carillon is running"), "\(ended.errors)")
        }
    }
}
