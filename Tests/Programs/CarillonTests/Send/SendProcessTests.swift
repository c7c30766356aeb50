import FoundationEssentials
import PushLoop
import PushSimulator
import PushTransport
import TestSupport
import TestTraits
import Testing

@testable import carillon

/// Tests of `carillon send` as a process, with a simulated Apple push service in another process.
@Suite(.waits) struct SendProcessTests {
    private typealias Scene = TrialScene

    @Test func `An accepted notification is reported as text and as JSON`() async throws {
        let scene = try await TrialScene(["--environment", "sandbox"])
        let words = try await scene.send(scene.key + scene.device + ["--title", "Hello", "--id", "order-4711"])
        #expect(words.status == 0, "\(words.errors)")
        #expect(words.errors == "carillon send: \(TokenOptions.caution)\n")
        #expect(
            words.output.hasPrefix("accepted: the provider accepted the notification; it does not report delivery\n"))
        for text in [
            "  app             com.example.shop, production\n", "  token           32 bytes, not shown\n",
            "  apns-unique-id  ",
            "  service         127.0.0.1:\(scene.simulator.field("provider"))\n", "  took            ",
        ] { #expect(words.output.contains(text), "\(words.output)") }
        let json = try await scene.send(
            scene.key + scene.device + ["--title", "Hello", "--id", "order-4711", "--json"])
        let said = try object(json)
        #expect(said["outcome"]?.string == "accepted" && said["status"]?.integer == 200)
        #expect(said["exit_code"]?.integer == 0 && said["message_id"]?.string == "order-4711")
        #expect(said["apns_unique_id"]?.string?.count == 36)
        #expect(said["address"]?.string == "127.0.0.1:\(scene.simulator.field("provider"))")
        // The apns-id is derived from app, message and token, so it is the same for both commands.
        let id = try #require(said["apns_id"]?.string)
        #expect(words.output.contains(id))
        let received = try await scene.simulator.ask("/received?payload=true")
        #expect(received.split(separator: "\n").count == 2 && received.contains(id))
        #expect(
            received.contains("{\\\"aps\\\":{\\\"alert\\\":{\\\"title\\\":\\\"Hello\\\"}}}")
                || received.contains("Hello"))
    }

    /// Other users of a machine can see the arguments of a command, but not its input.
    @Test func `A token can be read from a file or standard input, and its digits are not shown`() async throws {
        let scene = try await TrialScene()
        let file = try scene.directory.write("token.txt", containing: "\n<\(Scene.token)>\n")
        let calls: [(arguments: [String], input: String?)] = [
            (["--token-file", file], nil), (["--token-file", "-"], Scene.token + "\n"),
            (["--token-file", "-", "--json"], Scene.token), (["--token-file", "-", "--dry-run"], Scene.token),
        ]
        for call in calls {
            let ended = try await scene.send(scene.key + ["--title", "Hello"] + call.arguments, input: call.input)
            #expect(ended.status == 0 && ended.errors == "", "\(ended.output)\(ended.errors)")
            #expect(!ended.output.contains(Scene.token.prefix(6)), "\(ended.output)")
        }
        #expect(try await scene.simulator.ask("/received").split(separator: "\n").count == 3)
        let wrong: [(arguments: [String], status: Int32, words: String)] = [
            (["--token-file", file, "--token", Scene.token], 64, "'--token' cannot be combined with '--token-file'"),
            (["--token-file", "-", "--payload", "-"], 64, "standard input is read once"),
            (["--token-file", "missing.txt"], 65, "cannot read '--token-file'"),
            (["--token-file", "-"], 65, "contains no token"),
        ]
        for (arguments, status, words) in wrong {
            let text = arguments.contains("--payload") ? [] : ["--title", "Hello"]
            let ended = try await scene.send(scene.key + text + arguments, input: "")
            #expect(ended.status == status && ended.errors.contains(words), "\(arguments): \(ended.errors)")
        }
    }

    @Test func `All options reach the push service`() async throws {
        let scene = try await TrialScene()
        let pasted = "<00fc13ad ff785122 b4ad2880 9a342098 23412414 21348097 878e577c 991de8f0>"
        let ended = try await scene.send(
            scene.certificate + [
                "--token", pasted, "--payload", "-", "--push-type", "alert", "--priority", "5", "--ttl", "0",
                "--collapse-id", "order", "--apns-id", "0f0e0d0c-0b0a-0908-0706-050403020100",
            ], input: "{\"aps\":{\"alert\":\"from standard input\"}}")
        #expect(ended.status == 0, "\(ended.output)")
        let received = try await scene.simulator.ask("/received?payload=true")
        for text in ["0f0e0d0c-0b0a-0908-0706-050403020100", Scene.token, "\"priority\":5", "from standard input"] {
            #expect(received.contains(text), "\(received)")
        }
        let background = try await scene.send(scene.key + scene.device + ["--content-available"])
        #expect(background.status == 0, "\(background.output)\(background.errors)")
        #expect(try await scene.simulator.ask("/received").contains("background"))
    }

    /// The faults of the push service, each with the exit code and the text that it causes.
    @Test func `Each response has an exit code and an explanation`() async throws {
        let scene = try await TrialScene()
        let answers: [(rule: String, status: Int32, words: String)] = [
            (
                "answer: { status: 410, reason: 'Unregistered', timestamp: 1767225600000 }", 1,
                "rejected: 410 Unregistered: the device no longer takes notifications of this app, since 2026-01-01T00:00:00Z"
            ),
            ("answer: { status: 400, reason: 'BadDeviceToken' }", 1, "check that the app's environment"),
            ("answer: { status: 418, reason: 'Teapot' }", 1, "the unknown reason Teapot"),
            ("answer: { status: 429, reason: 'TooManyRequests', retry_after: 30 }", 75, "wait at least 30 s"),
            ("answer: { status: 503, reason: 'ServiceUnavailable' }", 75, "Next: send it again later."),
            ("answer: { status: 503, reason: 'Shutdown' }", 75, "try again: 503 Shutdown"),
            ("answer: { status: 403, reason: 'ExpiredProviderToken' }", 77, "set this machine's clock: the token"),
            ("answer: { status: 403, reason: 'Forbidden' }", 77, "credential refused: 403 Forbidden"),
            ("answer: { status: 400, reason: 'TopicDisallowed' }", 77, "the credential may not send to this topic"),
            (
                "goaway: { last: 0, reason: 'Shutdown' }", 75,
                "(GOAWAY Shutdown: the provider's server is shutting down)"
            ),
            (
                "goaway: { last: 0, reason: 'BadCertificate', close: true }", 77,
                "BadCertificate: the certificate is not"
            ),
            ("reset: 'REFUSED_STREAM'", 75, "returned the notification unprocessed each time"),
            ("reset: 'INTERNAL_ERROR'", 1, "unknown: the provider reset the request; the notification may"),
            ("close: true", 1, "unknown: connection lost before the response; the notification may"),
            ("on: 'connect', tls: 'refuse'", 69, "alert handshake_failure"),
            ("on: 'connect', tls: 'expired_certificate'", 69, "certificate CN=localhost expired"),
            ("on: 'connect', refuse: true", 69, "unreachable: "),
        ]
        for (rule, status, words) in answers {
            try await scene.fault(rule)
            let ended = try await scene.send(scene.key + scene.device + ["--title", "x"])
            #expect(ended.status == status, "\(rule): \(ended.output)")
            #expect(ended.output.contains(words), "\(rule): \(ended.output)")
            #expect(ended.output.contains("\nNext: "), "\(rule)")
            let said = try object(try await scene.send(scene.key + scene.device + ["--title", "x", "--json"]))
            #expect(said["exit_code"]?.integer == Int64(status), "\(rule)")
            #expect(said["meaning"]?.string != nil && said["advice"]?.string != nil, "\(rule)")
        }
        try await scene.fault("answer: { status: 429, reason: 'TooManyRequests', retry_after: 30 }")
        let json = try object(try await scene.send(scene.key + scene.device + ["--title", "x", "--json"]))
        #expect(json["reason"]?.string == "TooManyRequests" && json["retry_after_ms"]?.integer == 30_000)
    }

    @Test func `A missing response ends with the timeout`() async throws {
        let scene = try await TrialScene()
        let message = scene.key + scene.device + ["--title", "x", "--timeout"]
        try await scene.fault("silence: true")
        var silent = try await scene.send(message + ["300ms"])
        // A busy machine may need longer to send the notification.
        for time in ["3s", "30s", "120s"] where silent.status == 75 { silent = try await scene.send(message + [time]) }
        #expect(silent.status == 1, "\(silent.output)")
        #expect(silent.output.hasPrefix("unknown: timed out waiting for the response"), "\(silent.output)")
        try await scene.fault("on: 'connect', silence: true")
        // Either the connection or the whole command times out first; both have the same exit code.
        let waiting = try await scene.send(message + ["300ms"])
        #expect(waiting.status == 75, "\(waiting.output)")
        #expect(waiting.output.hasPrefix("try again: "), "\(waiting.output)")
        #expect(waiting.output.contains("127.0.0.1:\(scene.simulator.field("provider"))"), "\(waiting.output)")
    }

    @Test func `The payload rules are checked before anything is sent`() async throws {
        let scene = try await TrialScene()
        let large = "{\"aps\":{\"alert\":\"\(String(repeating: "x", count: 5000))\"}}"
        let kept = try await scene.send(scene.key + scene.device + ["--payload", large])
        #expect(kept.status == 65)
        #expect(kept.errors.contains("carillon send: refused: it is 5020 bytes; alert allows 4096"))
        #expect(try await scene.simulator.ask("/counts").contains("\"requests\":0"))
        let json = try object(try await scene.send(scene.key + scene.device + ["--payload", large, "--json"]))
        let findings = try #require(json["findings"]?.elements)
        #expect(findings.first?["code"]?.string == "tooLarge" && json["exit_code"]?.integer == 65)
        let anyway = try await scene.send(scene.key + scene.device + ["--payload", large, "--anyway"])
        #expect(anyway.status == 1 && anyway.output.contains("rejected: 413 PayloadTooLarge"))
        let dry = try await scene.send(scene.key + scene.device + ["--payload", large, "--dry-run"])
        #expect(dry.status == 65 && dry.output.contains("payload, 5020 bytes"))
        let risky = try await scene.send(
            scene.key + scene.device + ["--payload", "{\"aps\":{\"alert\":\"x\"},\"badge\":1}"])
        #expect(risky.status == 0 && risky.errors.contains("risky: badge: beside aps"), "\(risky.errors)")
        let file = try await scene.send(
            scene.key + scene.device + ["--payload", try scene.directory.write("p.json", containing: "{\"aps\": oops")])
        #expect(file.status == 65 && file.errors.contains("it is not JSON: line 1, column 9"), "\(file.errors)")
    }

    @Test func `A dry run sends nothing and shows no secrets`() async throws {
        let scene = try await TrialScene()
        let words = try await scene.send(
            scene.key + scene.device + ["--title", "Hello", "--custom", "order=4711", "--dry-run", "--ttl", "1h"])
        #expect(words.status == 0, "\(words.errors)")
        for text in [
            "Nothing was sent", "/3/device/TOKEN\n",
            "bearer <redacted: signed with key SIMULATOR1 of team CARILLON01>",
            "apns-topic       com.example.shop\n", "apns-push-type   alert\n", "apns-priority    10\n",
            "apns-expiration  ",
            "payload, 48 bytes:\n  {\"aps\":{\"alert\":{\"title\":\"Hello\"}},\"order\":4711}\n",
        ] { #expect(words.output.contains(text), "\(words.output)") }
        let json = try object(
            try await scene.send(scene.certificate + scene.device + ["--body", "x", "--dry-run", "--json"]))
        #expect(
            json["outcome"]?.string == "dry_run"
                && json["payload"]?.string == "{\"aps\":{\"alert\":{\"body\":\"x\"}}}")
        #expect(try await scene.simulator.ask("/counts").contains("\"requests\":0"))
    }

    @Test func `A closed port, an untrusted certificate and an unknown host are reported`() async throws {
        let scene = try await TrialScene()
        let message = scene.device + ["--title", "x"]
        let key = ["--key", scene.simulator.field("key"), "--team-id", "CARILLON01"]
        let nobody = try await scene.send(scene.place + key + ["--port", "1"] + message)
        #expect(nobody.status == 69 && nobody.output.contains("nothing listens there"), "\(nobody.output)")
        // A name with two addresses, one of which does not accept connections.
        let named = try await scene.send(
            [
                "--topic", "com.example.shop", "--environment", "production", "--host", "localhost", "--trust",
                scene.trust,
            ]
                + key + ["--port", scene.simulator.field("provider")] + message)
        #expect(named.status == 0, "\(named.output)")
        let other = try scene.directory.write("other.pem", containing: TestCertificates.shared.authority.certificatePEM)
        let place = [
            "--topic", "com.example.shop", "--environment", "production", "--port", scene.simulator.field("provider"),
        ]
        let untrusted = try await scene.send(place + key + ["--host", "127.0.0.1", "--trust", other] + message)
        #expect(untrusted.status == 69 && untrusted.output.contains("is not trusted"), "\(untrusted.output)")
        #expect(untrusted.output.contains("that its CA is the trusted one (\(other))"))
        let nowhere = try await scene.send(place + key + ["--host", "nowhere.invalid", "--trust", other] + message)
        #expect(nowhere.status == 69 && nowhere.output.contains("cannot look up nowhere.invalid"), "\(nowhere.output)")
        let noTLS = try await scene.send(
            scene.place + key + ["--port", scene.simulator.field("control")] + message + ["--timeout", "5s"])
        #expect([69, 75].contains(noTLS.status), "\(noTLS.output)")
    }

    @Test func `A key of another team is refused`() async throws {
        let scene = try await TrialScene()
        let key = scene.key.map { $0 == "CARILLON01" ? "CARILLON02" : $0 }
        let ended = try await scene.send(key + scene.device + ["--title", "x"])
        #expect(ended.status == 77)
        #expect(ended.output.contains("credential refused: 403 InvalidProviderToken"))
        #expect(ended.output.contains("Next: compare key, key_id and team_id"))
        // There is only one request: the command does not retry with a second provider token.
        #expect(try await scene.simulator.ask("/counts").contains("\"requests\":1"))
    }

    @Test(arguments: ["sandbox key", "key of another app", "sandbox certificate"])
    func `A credential for another environment or app is refused`(_ which: String) async throws {
        let key = try ES256PrivateKey.generate()
        try await withApple(key: key) { options in
            if which == "sandbox key" {
                options.settings.keys = [
                    ProviderKey(keyID: "ABC123DEFG", teamID: "DEF123GHIJ", environment: .sandbox)
                ]
            } else if which == "key of another app" {
                options.settings.keys = [
                    ProviderKey(keyID: "ABC123DEFG", teamID: "DEF123GHIJ", topics: ["com.example.other"])
                ]
            }
        } _: { port, trust, directory in
            let secrets = Secrets(files: ["\(directory.path)/AuthKey_ABC123DEFG.p8"])
            #expect(!secrets.isEmpty)
            var app = ["--topic", "com.example.shop", "--host", "127.0.0.1", "--port", port, "--trust", trust]
            var words = "403 BadEnvironmentKeyIdInToken: the key is restricted to the other environment"
            if which == "sandbox certificate" {
                let issued = try TestCertificates.shared.authority.issue(
                    CertificateRequest(
                        commonName: "Apple Development IOS Push Services: com.example.shop", usage: .client,
                        userID: "com.example.shop", extensions: [.init(oid: "1.2.840.113635.100.6.3.1", value: [5, 0])])
                )
                app += [
                    "--environment", "sandbox", "--certificate",
                    try directory.write("push.pem", containing: issued.certificatePEM + issued.privateKeyPEM),
                ]
                words = "403 BadCertificateEnvironment: the certificate is for the other environment"
            } else {
                app += ["--environment", "production", "--key", "AuthKey_ABC123DEFG.p8", "--team-id", "DEF123GHIJ"]
                if which == "key of another app" {
                    words = "400 TopicDisallowed: the credential may not send to this topic"
                }
            }
            let ended = try await secrets.run(
                ["send"] + app + ["--token", TrialScene.token, "--title", "x"], directory: directory.path)
            #expect(ended.status == 77, "\(ended.output)\(ended.errors)")
            #expect(ended.output.contains("credential refused: " + words), "\(ended.output)")
        }
    }

    @Test func `A notification can be sent over the binary protocol`() async throws {
        let scene = try await TrialScene()
        let ended = try await scene.send(scene.binary + scene.device + ["--body", "Hello"])
        #expect(ended.status == 0, "\(ended.output)\(ended.errors)")
        #expect(ended.output.contains("sent no error; the binary protocol has no other confirmation"))
        #expect(try await scene.simulator.ask("/received").contains(Scene.token))
        try await scene.fault("on: 'binary', packet: 8")
        let refused = try await scene.send(scene.binary + scene.device + ["--body", "Hello", "--json"])
        #expect(refused.status == 1, "\(refused.output)")
        #expect(try object(refused)["outcome"]?.string == "rejected")
        let dry = try await scene.send(scene.binary + scene.device + ["--body", "Hello", "--dry-run"])
        #expect(dry.status == 0 && dry.output.contains("a binary frame to tls://127.0.0.1"), "\(dry.output)")
    }

    @Test func `A broadcast can be sent to a channel`() async throws {
        let scene = try await TrialScene()
        let made = try object(try await scene.carillon(["channels", "create", "--json"] + scene.key))
        let channel = try #require(made["channel"]?.string)
        let update = "{\"aps\":{\"event\":\"update\",\"timestamp\":1767225600,\"content-state\":{}}}"
        let ended = try await scene.send(scene.key + ["--channel", channel, "--payload", update])
        #expect(ended.status == 0, "\(ended.output)\(ended.errors)")
        #expect(ended.output.contains("the provider accepted the broadcast"))
        let unknown = try await scene.send(scene.key + ["--channel", "bm9zdWNo", "--payload", update, "--json"])
        #expect(unknown.status == 1)
        #expect(try object(unknown)["reason"]?.string == "ChannelNotRegistered")
        let dry = try await scene.send(scene.key + ["--channel", channel, "--payload", update, "--dry-run"])
        #expect(dry.output.contains("/4/broadcasts/apps/com.example.shop") && dry.output.contains("apns-channel-id"))
        try await scene.fault("on: 'connect', refuse: true")
        #expect(try await scene.send(scene.key + ["--channel", channel, "--payload", update]).status == 69)
    }

    @Test func `A notification can be sent through an app of the configuration`() async throws {
        let scene = try await TrialScene()
        _ = try scene.directory.write("carillon.json5", containing: scene.configuration)
        let ended = try await scene.send(["--app", "shop"] + scene.device + ["--title", "x"])
        #expect(ended.status == 0, "\(ended.output)\(ended.errors)")
        #expect(ended.output.contains("app      shop: com.example.shop, production"), "\(ended.output)")
        let which = try await scene.send(scene.device + ["--title", "x"])
        #expect(
            which.status == 64 && which.errors.contains("no app: give --app with one of bell, shop"),
            "\(which.errors)")
        let none = try await scene.send(["--app", "shpo"] + scene.device + ["--title", "x"])
        #expect(none.status == 65 && none.errors.contains("did you mean \"shop\"?"))
        _ = try scene.directory.write("broken.json5", containing: "{ apps: { shop: { topik: 1 } } }")
        let broken = try await scene.send(["--config", "broken.json5"] + scene.device + ["--title", "x", "--json"])
        #expect(broken.status == 78)
        #expect(try object(broken)["outcome"]?.string == "configuration")
    }
}

extension TrialScene {
    /// A configuration with one app over HTTP/2 with the key, and one over the binary protocol with the certificate.
    var configuration: String {
        // The ports are any free ones, so that other processes do not matter.
        """
        { http: { listen: "127.0.0.1:0" }, \(ServeScene.anyPorts) apps: {
          shop: { topic: "com.example.shop", environment: "production",
            credential: { key: "simulator/AuthKey_SIMULATOR1.p8", key_id: "SIMULATOR1", team_id: "CARILLON01" },
            endpoint: { host: "127.0.0.1", port: \(simulator.field("provider")), trust: "simulator/ca.pem" } },
          bell: { topic: "com.example.shop", environment: "sandbox", gateway: { protocol: "binary" },
            credential: { certificate: "simulator/push.pem" },
            endpoint: { host: "127.0.0.1", port: \(simulator.field("binary")), trust: "simulator/ca.pem" } } } }
        """
    }
}
