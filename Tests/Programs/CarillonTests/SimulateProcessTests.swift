import Foundation
import JSON5
import PushTransport
import TestSupport
import TestTraits
import Testing

/// Tests of `carillon simulate` as a process, with clients that share no code with it.
@Suite(.serialized, .waits) struct SimulateProcessTests {
    private static let token = String(repeating: "ab", count: 32)

    @Test("The simulator accepts 100,000 requests of h2load") func h2loadSendsAHundredThousand() async throws {
        let simulator = try await RunningSimulator(["--open-streams"])
        let body = try simulator.directory.write("body", containing: "{\"aps\":{\"alert\":\"Hello\"}}")
        let ended = try await ChildProcess.run(
            "h2load",
            [
                "-n", "100000", "-c", "4", "-m", "100", "-d", body,
                "-H", "authorization: bearer \(try simulator.providerToken())", "-H", "apns-topic: com.example.shop",
                "-H", "apns-push-type: alert", "\(simulator.provider)/3/device/\(Self.token)",
            ])
        #expect(ended.status == 0)
        #expect(ended.output.contains("100000 succeeded, 0 failed, 0 errored, 0 timeout"))
        #expect(ended.output.contains("status codes: 100000 2xx, 0 3xx, 0 4xx, 0 5xx"))
        let counts = try await simulator.ask("/counts")
        #expect(counts.contains("\"requests\":100000,\"accepted\":100000,"))
        #expect(try await simulator.stop().status == 0)
    }

    @Test("The addresses are JSON, whatever characters the directory has")
    func placesAreJSON() async throws {
        let directory = try TemporaryDirectory()
        let data = "\(directory.path)/a\t\"\\b"
        let process = try ChildProcess(
            ChildProcess.carillon,
            [
                "simulate", "--port", "0", "--binary-port", "0", "--feedback-port", "0", "--control-port", "0",
                "--data", data, "--json",
            ])
        let line = try #require(try await process.line())
        let places = try JSON5Reader.read(Array(line.utf8))
        #expect(places["ca"]?.string == "\(data)/ca.pem")
        #expect(places["certificate"]?.string == "\(data)/push.pem")
        // JSON5 allows control characters in strings, but JSON does not.
        #expect(!line.contains("\t"))
        process.send(15)
        _ = try await process.end()
    }

    @Test("Drafts of keys that an interrupted start left are removed")
    func draftsAreRemoved() async throws {
        let simulator = try await RunningSimulator()
        let data = "\(simulator.directory.path)/simulator"
        #expect(try await simulator.stop().status == 0)
        for name in ["ca.key", "push.pem", "AuthKey_SIMULATOR1.p8"] {
            try Data("a part of a key".utf8).write(to: URL(filePath: "\(data)/\(name).new"))
        }
        // The file of the key is missing, as if the start had been interrupted while it was written.
        try FileManager.default.removeItem(atPath: "\(data)/AuthKey_SIMULATOR1.p8")
        let again = try ChildProcess(
            ChildProcess.carillon,
            [
                "simulate", "--port", "0", "--binary-port", "0", "--feedback-port", "0", "--control-port", "0",
                "--data", data, "--json",
            ])
        _ = try #require(try await again.line())
        let names = try FileManager.default.contentsOfDirectory(atPath: data)
        #expect(names.contains("AuthKey_SIMULATOR1.p8") && !names.contains { $0.hasSuffix(".new") }, "\(names)")
        again.send(15)
        _ = try await again.end()
    }

    @Test("A key that cannot be written leaves no part of it behind")
    func failedWritesLeaveNothing() async throws {
        let directory = try TemporaryDirectory()
        let data = "\(directory.path)/data"
        let ended = try await ChildProcess.run(
            "bash",
            [
                "-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" simulate --port 0 --data \"$1\"", ChildProcess.carillon,
                data,
            ])
        #expect(ended.status == 1 && ended.errors.contains("cannot write \(data)/ca.key: File too large"), "\(ended)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: data).isEmpty)
    }

    @Test("The simulator responds to nghttp") func nghttpIsAnswered() async throws {
        let simulator = try await RunningSimulator(["--open-streams"])
        let body = try simulator.directory.write("body", containing: "{\"aps\":{\"alert\":\"Hello\"}}")
        let ended = try await ChildProcess.run(
            "nghttp",
            [
                "-v", "-d", body, "-H", "authorization: bearer \(try simulator.providerToken())",
                "-H", "apns-topic: com.example.shop", "-H", ":method: POST",
                "\(simulator.provider)/3/device/\(Self.token)",
            ])
        #expect(ended.output.contains(":status: 200"))
        #expect(ended.output.contains("apns-id: "))
        _ = try await simulator.stop()
    }

    @Test("Provider tokens of a key given with --key are accepted", arguments: [false, true])
    func aGivenKeyIsTaken(_ isPublic: Bool) async throws {
        let directory = try TemporaryDirectory()
        let key = try ES256PrivateKey.generate()
        let file =
            isPublic
            ? try directory.write("shop.pem", containing: key.publicKey.pem)
            : try directory.write("AuthKey_SHOPKEY123.p8", containing: key.pem)
        let named = isPublic ? ["--key-id", "SHOPKEY123"] : []
        let simulator = try await RunningSimulator(["--key", file, "--team-id", "SHOPTEAM12"] + named)
        // The simulator's own key is still accepted.
        for (token, status) in [
            (try RunningSimulator.token(of: key, "SHOPKEY123", "SHOPTEAM12"), "200"),
            (try simulator.providerToken(), "200"),
            (try RunningSimulator.token(of: try ES256PrivateKey.generate(), "SHOPKEY123", "SHOPTEAM12"), "403"),
        ] {
            let ended = try await ChildProcess.run(
                "curl",
                [
                    "--silent", "--show-error", "--http2", "--cacert", simulator.field("ca"), "-H",
                    "authorization: bearer \(token)", "-H", "apns-topic: com.example.shop", "-H",
                    "apns-push-type: alert", "--data", "{\"aps\":{\"alert\":\"Hello\"}}", "-o", "/dev/null", "-w",
                    "%{http_code}", "\(simulator.provider)/3/device/\(Self.token)",
                ])
            #expect(ended.output == status, "\(ended.errors)")
        }
        _ = try await simulator.stop()
    }

    @Test("A key without a key id is rejected") func aKeyWithoutAnIdIsRefused() async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("shop.p8", containing: try ES256PrivateKey.generate().pem)
        let ended = try await ChildProcess.run(
            ChildProcess.carillon, ["simulate", "--data", directory.path, "--key", file])
        #expect(ended.status == 64 && ended.errors.contains("--key-id"), "\(ended.errors)")
        let none = try await ChildProcess.run(
            ChildProcess.carillon, ["simulate", "--data", directory.path, "--key", "\(directory.path)/none.p8"])
        #expect(none.status == 65 && none.errors.contains("none.p8"), "\(none.errors)")
    }

    @Test(
        "curl receives the response for an active and for an unregistered device",
        arguments: [("", "200"), ("b0", "410")])
    func curlIsAnswered(prefix: String, status: String) async throws {
        let simulator = try await RunningSimulator()
        if !prefix.isEmpty {
            _ = try await ChildProcess.run(
                "curl",
                [
                    "--silent", "-X", "PUT", "--data", "{\"state\":\"unregistered\",\"since\":1767225600000}",
                    "\(simulator.control)/devices/\(prefix)*",
                ])
        }
        let token = prefix + Self.token.dropFirst(prefix.count)
        let ended = try await ChildProcess.run(
            "curl",
            [
                "--silent", "--show-error", "--http2", "--cacert", simulator.field("ca"),
                "--cert", simulator.field("certificate"), "-H", "apns-topic: com.example.shop",
                "--data", "{\"aps\":{\"alert\":\"Hello\"}}", "-w", "\n%{http_code} %{http_version}\n",
                "\(simulator.provider)/3/device/\(token)",
            ])
        #expect(ended.errors.isEmpty)
        #expect(ended.output.hasSuffix("\(status) 2\n"))
        if status == "410" {
            #expect(ended.output.hasPrefix("{\"reason\":\"Unregistered\",\"timestamp\":1767225600000}"))
        }
        let received = try await simulator.ask("/received?token=\(token)")
        #expect(received.contains("\"status\":\(status)"))
        _ = try await simulator.stop()
    }

    @Test("curl rejects the simulator without its CA certificate") func curlThatDoesNotTrustItRefuses() async throws {
        let simulator = try await RunningSimulator()
        let ended = try await ChildProcess.run(
            "curl", ["--silent", "--show-error", "--http2", "\(simulator.provider)/3/device/\(Self.token)"])
        #expect(ended.status == 60)
        #expect(try await simulator.ask("/counts").contains("\"requests\":0,"))
        _ = try await simulator.stop()
    }

    @Test("A handshake negotiates TLS 1.3 and h2") func aHandshakeIsTLS13WithH2() async throws {
        let simulator = try await RunningSimulator()
        let ended = try await ChildProcess.run(
            "openssl",
            [
                "s_client", "-connect", "127.0.0.1:\(simulator.field("provider"))", "-alpn", "h2",
                "-CAfile", simulator.field("ca"), "-verify_return_error", "-verify_ip", "127.0.0.1",
            ])
        #expect(ended.output.contains("New, TLSv1.3"))
        #expect(ended.output.contains("ALPN protocol: h2"))
        #expect(ended.output.contains("Verification: OK"))
        _ = try await simulator.stop()
    }

    @Test("Certificates and keys are kept across a restart") func certificatesAndKeysOutliveARestart() async throws {
        let directory = try TemporaryDirectory()
        // Starts and stops a simulator, and returns its output.
        func start() async throws -> String {
            let process = try ChildProcess(
                ChildProcess.carillon,
                [
                    "simulate", "--port", "0", "--binary-port", "0", "--feedback-port", "0", "--control-port", "0",
                    "--fcm-port", "0", "--data", "\(directory.path)/kept",
                ])
            var words = ""
            while !words.contains("client certificate"), let line = try await process.line() { words += line + "\n" }
            process.send(15)
            let ended = try await process.end()
            #expect(ended.status == 0)
            return words + ended.output
        }
        let created = try #require(try await start().split(separator: "\n").last { $0.hasPrefix("Created: ") })
        let files = try await ChildProcess.run("ls", [directory.path + "/kept"])
        #expect(
            created.dropFirst("Created: ".count).dropLast().split(separator: ", ").sorted()
                == files.output.split(separator: "\n").sorted())
        #expect(try await !start().contains("Created: "))
        // Only the owner may read the keys.
        let modes = try await ChildProcess.run(
            "stat", ["-c", "%a %n", "ca.key", "server.pem", "push.pem", "AuthKey_SIMULATOR1.p8"],
            directory: "\(directory.path)/kept")
        #expect(modes.output.split(separator: "\n").allSatisfy { $0.hasPrefix("600 ") })
    }

    @Test("A port that is in use is reported") func aTakenPortIsSaidInWords() async throws {
        let simulator = try await RunningSimulator()
        let ended = try await ChildProcess.run(
            ChildProcess.carillon,
            [
                "simulate", "--port", simulator.field("provider"), "--binary-port", "0", "--feedback-port", "0",
                "--control-port", "0", "--data", simulator.directory.path + "/simulator",
            ])
        #expect(ended.status == 69)
        #expect(ended.errors.contains("another process listens there"))
        _ = try await simulator.stop()
    }

    @Test(
        "Usage errors have an explanation and an exit code",
        arguments: [
            (["simulate", "--prot", "1"], 64, "did you mean '--port'?"), (["simulat"], 64, "did you mean 'simulate'?"),
            (["simulate", "--port", "70000"], 64, "from 0 to 65535"),
            (["simulate", "--faults", "no-such-file"], 65, "cannot read the fault script no-such-file"),
            ([], 64, "usage:"),
        ])
    func mistakesAreExplained(arguments: [String], status: Int32, text: String) async throws {
        let directory = try TemporaryDirectory()
        let ended = try await ChildProcess.run(ChildProcess.carillon, arguments, directory: directory.path)
        #expect(ended.status == status)
        #expect(ended.errors.contains(text))
        #expect(ended.output.isEmpty)
    }

    @Test(
        "Help and version go to the standard output",
        arguments: [["--help"], ["help", "simulate"], ["simulate", "--help"], ["version"], ["version", "--json"]])
    func helpGoesToTheOutput(arguments: [String]) async throws {
        let ended = try await ChildProcess.run(ChildProcess.carillon, arguments)
        #expect(ended.status == 0)
        #expect(ended.errors.isEmpty)
        #expect(!ended.output.isEmpty)
        // There are no colors without a terminal.
        #expect(!ended.output.contains("\u{1b}"))
    }
}
