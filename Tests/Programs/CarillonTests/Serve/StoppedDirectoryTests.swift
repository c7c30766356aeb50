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
    func `A stopped directory is read as the next start reads it`(_ signal: CInt) async throws {
        let scene = try await Scene(endedBy: signal)
        let temporary = "\(scene.serving.directory.path)/tmp"
        mkdir(temporary, 0o700)
        for (words, output) in scene.commands {
            for place in [["--config", scene.file], ["--data", scene.data]] {
                let ended = try await Scene.run(words + place, prefix: ["TMPDIR=\(temporary)"])
                #expect(ended.status == 0 && ended.output.contains(output), "\(words): \(ended.errors)")
                #expect(ended.errors.contains("no Carillon runs on \(scene.data)"), "\(words): \(ended.errors)")
            }
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: temporary) == [])
        // Carillon starts on it as if nothing had happened.
        #expect(try await RunningServe(scene.file).stop().status == 0)
    }

    @Test func `A directory that cannot be locked is to be copied, and the copy is read`() async throws {
        let scene = try await Scene(endedBy: SIGKILL)
        let readOnly = "mount --bind \"$0\" \"$0\" && mount -o remount,ro,bind \"$0\" && exec \"$@\""
        let refused = try await Scene.run(
            ["messages", "--data", scene.data],
            prefix: ["unshare", geteuid() == 0 ? "-m" : "-rm", "sh", "-c", readOnly, scene.data])
        #expect(
            refused.status == 1 && refused.errors.contains("Read-only file system") && refused.errors.contains("cp -a"),
            "\(refused.errors)")
        let copy = "\(scene.serving.directory.path)/copy"
        #expect(try await ChildProcess.run("cp", ["-a", scene.data, copy]).status == 0)
        for (words, output) in scene.commands {
            let ended = try await Scene.run(words + ["--data", copy])
            #expect(ended.status == 0 && ended.output.contains(output), "\(words): \(ended.errors)")
        }
    }

    @Test(.enabled(if: geteuid() == 0)) func `A user who may not read the directory is told so`() async throws {
        let scene = try await Scene(endedBy: SIGTERM)
        chmod(scene.serving.directory.path, 0o755)
        for mode in [0o700, 0o755] as [mode_t] {
            chmod(scene.data, mode)
            let ended = try await Scene.run(
                ["messages", "--data", scene.data],
                prefix: ["TMPDIR=/tmp", "setpriv", "--reuid", "65534", "--clear-groups"])
            #expect(
                ended.status == 77 && ended.errors.contains("Permission denied") && ended.errors.contains("cp -a"),
                "\(ended.errors)")
        }
    }

    @Test func `A damaged file is reported by its own name`() async throws {
        let scene = try await Scene(endedBy: SIGTERM)
        _ = try scene.serving.directory.write("data/ledger.db", containing: String(repeating: "x", count: 8192))
        let ended = try await Scene.run(["messages", "--data", scene.data])
        #expect(
            ended.status == 1 && ended.output == "" && ended.errors.contains("\(scene.data)/ledger.db"),
            "\(ended.errors)")
        #expect(ended.errors.contains("damaged") || ended.errors.contains("not a database"), "\(ended.errors)")
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
