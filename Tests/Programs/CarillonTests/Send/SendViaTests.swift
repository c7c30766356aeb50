import JSON5
import PushAPI
import PushLoop
import PushModel
import PushPipeline
import PushTransport
import ServerTestSupport
import TestSupport
import TestTraits
import Testing

@testable import carillon

/// Tests of `carillon send --via` as a process, with an intake in the test process.
@Suite(.waits) struct SendViaTests {
    private static let message = ["--app", "shop", "--token", TrialScene.token, "--title", "Hello"]

    private func send(_ arguments: [String], directory: TemporaryDirectory? = nil) async throws -> ChildProcess.Ended {
        let secrets = Secrets(files: [])
        return try await secrets.run(["send"] + arguments, directory: directory?.path ?? "/")
    }

    @Test func `A message is accepted, and a duplicate the second time`() async throws {
        try await IntakeGround.run { ground in
            let call = ["--via", ground.endpoint, "--id", "order-4711"] + Self.message
            let words = try await send(call)
            #expect(words.status == 0, "\(words.output)\(words.errors)")
            #expect(words.output.hasPrefix("accepted: Carillon has stored the message and will send it\n"))
            #expect(words.output.contains("  id    order-4711\n") && words.output.contains("  seq   1\n"))
            let said = try object(try await send(call + ["--json"]))
            #expect(said["outcome"]?.string == "duplicate" && said["exit_code"]?.integer == 0)
            #expect(said["seq"]?.integer == 1 && said["attempts"]?.integer == 1)
            let request = try #require(ground.requests.first)
            #expect(request.message.app.name == "shop" && request.message.type == .alert)
            #expect(request.message.payload == Array(#"{"aps":{"alert":{"title":"Hello"}}}"#.utf8))
            #expect(request.audience == .tokens([Address(hex: TrialScene.token)!]))
        }
    }

    @Test func `Without a server, a message to the Carillon of the configuration fails at once`() async throws {
        let directory = try TemporaryDirectory()
        _ = try directory.write("carillon.json5", containing: #"{ data: "data", apps: {} }"#)
        let call = ["--app", "shop", "--user", "ada", "--title", "x", "--timeout", "10m"]
        let ended = try await send(call, directory: directory)
        #expect(ended.status == 75 && ended.output.isEmpty, "\(ended.output)\(ended.errors)")
        #expect(ended.errors.contains("nothing was sent: no Carillon runs on the data directory "))
        let said = try object(try await send(call + ["--json"], directory: directory))
        #expect(said["exit_code"]?.integer == 75)
    }

    @Test func `All kinds of audience and all options reach the intake`() async throws {
        try await IntakeGround.run { ground in
            let device = "000102030405060708090a0b0c0d0e0f"
            let directory = try TemporaryDirectory()
            let file = try directory.write(
                "tokens", containing: "\(TrialScene.token)\n\(String(repeating: "ab", count: 32))\n")
            let calls: [([String], (PushRequest) -> Bool)] = [
                (
                    ["--token", TrialScene.token, "--token", String(repeating: "ab", count: 32)],
                    { $0.audience.named == 2 }
                ),
                (["--token-file", file], { $0.audience.named == 2 }),
                (["--device", device], { $0.audience == .devices([DeviceID(device)!]) }),
                (["--user", "ada", "--user", "grace"], { $0.audience == .users(["ada", "grace"]) }),
                (["--tags", "beta"], { $0.audience == .tags(.tag("beta")) }),
                (["--tag", "beta"], { $0.audience == .tags(.tag("beta")) }),
                (["--tag", "beta", "--tag", "ios"], { $0.audience == .tags(.all([.tag("beta"), .tag("ios")])) }),
                (["--tags", #"{"any":["beta","staff"]}"#], { if case .tags = $0.audience { true } else { false } }),
                (["--all", "--again"], { $0.audience == .everyone && $0.again }),
                (
                    ["--all", "--priority", "5", "--ttl", "0", "--collapse-id", "c", "--id", "mine"],
                    {
                        $0.message.priority == .five && $0.message.expiry == .singleAttempt
                            && $0.message.collapseID?.text == "c" && $0.message.id.text == "mine"
                    }
                ),
            ]
            for (options, fits) in calls {
                let ended = try await send(["--via", ground.endpoint, "--app", "shop", "--body", "x"] + options)
                #expect(ended.status == 0, "\(options): \(ended.output)\(ended.errors)")
                let request = try #require(ground.requests.last)
                #expect(fits(request), "\(options)")
                #expect(options.contains("--id") || request.message.id.text.hasPrefix("send-"))
                #expect(ended.output.contains("  id    \(request.message.id)\n"))
            }
            let wake = try await send(["--via", ground.endpoint, "--app", "shop", "--all", "--content-available"])
            #expect(wake.status == 0 && ground.requests.last?.message.type.word == "background", "\(wake.output)")
        }
    }

    @Test func `Payload keys that devices ignore are reported`() async throws {
        try await IntakeGround.run { ground in
            let call = [
                "--via", ground.endpoint, "--app", "shop", "--all", "--payload", #"{"aps":{"alert":"x","bagde":1}}"#,
            ]
            let words = try await send(call)
            #expect(words.status == 0)
            #expect(words.output.contains("will be ignored  aps.bagde: there is no such key; did you mean badge?"))
            let findings = try object(try await send(call + ["--json"]))["findings"]?.elements
            #expect(findings?.map { $0["code"]?.string } == ["misspelt_key"])
        }
    }

    @Test func `A rejected message has the exit code for bad input and a reason`() async throws {
        try await IntakeGround.run { ground in
            let call = ["--via", ground.endpoint, "--app", "nowhere", "--all", "--title", "x"]
            let refused = try await send(call)
            #expect(refused.status == 65 && refused.output.hasPrefix("rejected: unknown_app: "), "\(refused.output)")
            #expect(refused.output.contains("\nNext: "))
            #expect(try object(try await send(call + ["--json"]))["reason"]?.string == "unknown_app")
        }
    }

    @Test func `A busy ack leads to a retry with the same id until the timeout`() async throws {
        try await IntakeGround.run { ground in
            ground.answer({ _ in .failed("full") })
            let said = try object(
                try await send(["--via", ground.endpoint, "--id", "again", "--json"] + Self.message))
            #expect(said["outcome"]?.string == "accepted" && said["attempts"]?.integer == 2)
            #expect(ground.requests.map(\.message.id.text) == ["again", "again"])
            ground.intake.setBlocked(LedgerFault("no space left on device"))
            let busy = try await send(["--via", ground.endpoint, "--timeout", "500ms"] + Self.message)
            // A busy machine may not have connected by then.
            #expect(busy.status == 75, "\(busy.output)")
            #expect(busy.output.hasPrefix("busy: Carillon was busy") || busy.output.hasPrefix("no answer: "))
            #expect(busy.output.contains("Next: ") && busy.output.contains(" --id send-"))
        }
    }

    @Test func `An unreachable endpoint is reported as no answer`() async throws {
        let said = try object(
            try await send(
                ["--via", "tcp://127.0.0.1:1", "--timeout", "1s", "--json"] + Self.message))
        #expect(said["outcome"]?.string == "no_answer" && said["exit_code"]?.integer == 75)
        #expect(said["message_id"]?.string?.hasPrefix("send-") == true)
    }

    @Test func `Known keys are accepted, and unknown or missing keys are refused`() async throws {
        let (server, client, stranger) = (
            try CurveKeyPair.generate(), try CurveKeyPair.generate(), try CurveKeyPair.generate()
        )
        let directory = try TemporaryDirectory()
        _ = try directory.write(
            "client.curve",
            containing:
                "# of orders\npublic-key = \"\(client.publicKey.z85)\"\nsecret-key = \"\(client.secretKey.z85)\"\n")
        _ = try directory.write("stranger.curve", containing: "secret-key = \"\(stranger.secretKey.z85)\"\n")
        let clients = ClientDirectory([client.publicKey: .init(name: "orders", push: [AppID("shop")!])])
        try await IntakeGround.run(users: clients.users) {
            $0.security = .curveServer(secretKey: server.secretKey, domain: "carillon")
            $0.rights = clients.rights
        } _: { ground in
            let call = ["--via", ground.endpoint, "--server-key", server.publicKey.z85] + Self.message
            let known = try await send(call + ["--key-file", "client.curve"], directory: directory)
            #expect(known.status == 0, "\(known.output)\(known.errors)")
            let unknown = try await send(call + ["--key-file", "stranger.curve"], directory: directory)
            #expect(unknown.status == 77, "\(unknown.output)\(unknown.errors)")
            #expect(unknown.output.contains("authentication failed: the server does not know this client's key"))
            // The server closes the connection. On a busy machine the client may notice that first, and says so.
            var plain = try await send(["--via", ground.endpoint] + Self.message)
            while plain.output.contains("handshake failed: the connection was closed") {
                plain = try await send(["--via", ground.endpoint] + Self.message)
            }
            #expect(plain.status == 77 && plain.output.contains("one side uses CURVE keys"), "\(plain.output)")
            #expect(!known.output.contains(client.secretKey.z85) && !unknown.output.contains(stranger.secretKey.z85))
        }
    }

    @Test func `The option --server-key makes the key file of the server unnecessary`() async throws {
        let (server, client) = (try CurveKeyPair.generate(), try CurveKeyPair.generate())
        let directory = try TemporaryDirectory()
        _ = try directory.write("client.curve", containing: "secret-key = \"\(client.secretKey.z85)\"\n")
        _ = try directory.write(
            "carillon.json5",
            containing:
                "{ intake: { router: 'tcp://127.0.0.1:1' }, security: { curve: { secret_key_file: 'absent.curve' } },"
                + " \(minimalApp) }")
        let call = ["--user", "ada", "--app", "shop", "--title", "x", "--dry-run", "--key-file", "client.curve"]
        let given = try await send(call + ["--server-key", server.publicKey.z85], directory: directory)
        #expect(given.status == 0 && given.output.contains("tcp://127.0.0.1:1"), "\(given.output)\(given.errors)")
        let missing = try await send(call, directory: directory)
        #expect(missing.status == 65 && missing.errors.contains("or give --server-key"), "\(missing.errors)")
    }

    @Test func `Hints stop at the first request without a response`() async throws {
        let directory = try TemporaryDirectory()
        let loop = EventLoop(name: "silent")
        let asked = Locked(0)
        let server = try await loop.run {
            let server = HTTP1Server(on: loop, limits: .controlSocket) { _, _ in asked.withLock { $0 += 1 } }
            try server.listen(unixSocket: "\(directory.path)/\(ControlSocket.fileName)")
            return LoopBound(server, on: loop)
        }
        let words = ["--user", "ada", "--user", "eve", "--user", "bob"]
        let hints = AudienceHints(
            try Arguments(words, of: SendVerb.verb), app: AppID("shop")!, dataDirectory: directory.path)
        #expect(await hints.notes().isEmpty)
        // On a busy machine the request may be read after its time.
        await wait(while: asked.withLock({ $0 }) == 0)
        await withCheckedContinuation { continuation in
            loop.execute { server.wrapped.close { continuation.resume() } }
        }
        await loop.shutDown()
        #expect(asked.withLock { $0 } == 1)
    }

    private static let mistakes: [([String], Int32, String)] = [
        (["--via", "localhost"] + message, 64, "'--via' must be an endpoint"),
        (["--via", "tcp://127.0.0.1:99999"] + message, 64, "ports end at 65535"),
        (["--via", "tcp://127.0.0.1:1", "--topic", "a"] + message, 64, "'--topic' cannot be combined with '--via'"),
        (
            ["--via", "tcp://127.0.0.1:1", "--channel", "a"] + message, 64,
            "'--channel' cannot be combined with '--via'"
        ),
        (["--via", "tcp://127.0.0.1:1", "--all", "--title", "x"], 64, "no app: give --app"),
        (["--via", "tcp://127.0.0.1:1", "--app", "shop", "--title", "x"], 64, "no audience: give --token-file"),
        (["--via", "tcp://127.0.0.1:1", "--all"] + message, 64, "'--token' cannot be combined with '--all'"),
        (["--via", "tcp://127.0.0.1:1", "--app", "shop", "--all"], 64, "no content: give --title"),
        (["--via", "tcp://127.0.0.1:1", "--app", "shop", "--device", "x", "--title", "x"], 65, "is not a device id"),
        (
            ["--via", "tcp://127.0.0.1:1", "--app", "shop", "--tags", "{x", "--title", "x"], 65,
            "'--tags' is not valid JSON"
        ),
        (["--via", "tcp://127.0.0.1:1", "--key-file", "x"] + message, 64, "needs '--server-key'"),
        (["--via", "tcp://127.0.0.1:1", "--server-key", "x"] + message, 64, "needs '--key-file'"),
        (["--via", "tcp://127.0.0.1:1", "--key-file", "absent", "--server-key", "x"] + message, 65, "absent"),
        (["--all"] + message, 64, "'--token' cannot be combined with '--all'"),
        (["--all", "--app", "shop", "--title", "x"], 78, "or name the intake of a running Carillon with --via"),
        (["--all", "--topic", "t", "--title", "x"], 64, "'--topic' needs '--token' or '--channel'"),
        (["--server-key", "x"] + message, 64, "'--server-key' needs '--via'"),
        (
            [
                "--topic", "a", "--environment", "production", "--key", "k", "--key-id", "ABC123DEFG", "--team-id",
                "DEF123GHIJ", "--token", "b",
            ] + message.dropFirst(2), 64, "several devices need '--via'"
        ),
    ]

    @Test func `Usage errors are explained before anything is sent`() async throws {
        for (arguments, status, words) in Self.mistakes {
            let ended = try await send(arguments)
            #expect(ended.status == status && ended.errors.contains(words), "\(arguments): \(ended.errors)")
        }
    }

    @Test func `A dry run shows the envelope`() async throws {
        let ended = try await send(
            ["--via", "tcp://127.0.0.1:1", "--app", "shop", "--user", "ada", "--title", "x", "--id", "i", "--dry-run"])
        #expect(ended.status == 0)
        let envelope = #"{"alert":{"title":"x"},"app":"shop","id":"i","push_type":"alert","to":{"users":["ada"]}}"#
        #expect(ended.output.contains(envelope))
    }

    @Test func `Plain options are rendered by the service of the app, and those of a payload are not`() async throws {
        let plain = [
            "--title", "A", "--badge", "0", "--sound", "s", "--category", "c", "--thread", "t", "--link", "shop:1",
            "--image", "https://a.example/b.png", "--custom", "order=4711",
        ]
        let aps = #""alert":{"title":"A"},"badge":0,"sound":"s","thread-id":"t","category":"c""#
        let beside = #""image":"https://a.example/b.png","link":"shop:1","order":4711"#
        try await IntakeGround.run { ground in
            let call = ["--via", ground.endpoint, "--app", "shop", "--all"] + plain
            for (more, inside) in [([], ""), (["--content-available"], #","content-available":1"#)] {
                let ended = try await send(call + more)
                #expect(ended.status == 0, "\(ended.output)\(ended.errors)")
                let payload = try #require(ground.requests.last?.message.payload)
                #expect(
                    String(decoding: payload, as: UTF8.self)
                        == #"{"aps":{\#(aps)\#(inside),"mutable-content":1},\#(beside)}"#)
            }
        }
    }

    @Test func `A dry run does not show tokens`() async throws {
        let token = String(repeating: "ab", count: 32)
        for more in [[], ["--json"]] {
            let ended = try await send(
                ["--via", "tcp://127.0.0.1:1", "--app", "shop", "--token", token, "--title", "x", "--dry-run"] + more)
            #expect(ended.status == 0 && ended.output.contains("32 bytes, not shown"), "\(ended.output)")
            #expect(!ended.output.contains("abab"))
        }
    }
}
