import PushLoop
import PushSimulator
import PushTransport
import TestSupport
import TestTraits
import Testing

/// Tests of `carillon check` as a process.
@Suite(.waits) struct CheckProcessTests {
    @Test func `The check of a configuration prints one table with every app`() async throws {
        let scene = try await TrialScene()
        _ = try scene.directory.write("carillon.json5", containing: scene.configuration)
        let ended = try await scene.carillon(["check"])
        #expect(ended.status == 0, "\(ended.errors)")
        let lines = ended.output.split(separator: "\n")
        #expect(lines.count == 4 && lines[0] == "./carillon.json5: 2 apps", "\(ended.output)")
        #expect(lines[1].hasPrefix("  app   topic             environment  credential"))
        #expect(lines[2].contains("bell  com.example.shop  sandbox      certificate ") && lines[2].contains("(binary)"))
        #expect(lines[3].contains("shop  com.example.shop  production   key SIMULATOR1, team CARILLON01  never"))
        // Without `--connect`, nothing is sent.
        #expect(try await scene.simulator.ask("/counts").contains("\"requests\":0"))
        let json = try object(try await scene.carillon(["check", "shop", "--json"]))
        let apps = try #require(json["apps"]?.elements)
        #expect(apps.count == 1 && apps[0]["app"]?.string == "shop" && json["ok"]?.boolean == true)
        let credential = try #require(apps[0]["credential"])
        #expect(credential["key_id"]?.string == "SIMULATOR1" && credential["kind"]?.string == "provider_key")
        #expect(try await scene.carillon(["check", "shpo"]).status == 65)
    }

    @Test func `The option --connect verifies credentials`() async throws {
        let scene = try await TrialScene()
        _ = try scene.directory.write("carillon.json5", containing: scene.configuration)
        let lenient = try await scene.carillon(["check", "--connect"])
        #expect(lenient.status == 0, "\(lenient.output)")
        #expect(
            lenient.output.contains(
                "shop: passed: credential and topic are accepted; the made-up device token was accepted as well"))
        #expect(lenient.output.contains("bell: passed: TLS handshake with the certificate succeeded"))
        // Apple rejects unknown tokens as well.
        try await scene.tell("PUT", "/devices", "{ \"unknown\": \"reject\" }")
        let strict = try await scene.carillon(["check", "shop", "--connect"])
        #expect(strict.status == 0, "\(strict.output)")
        #expect(
            strict.output.contains(
                "shop: passed: 400 BadDeviceToken: the made-up device token was rejected, and at Apple"))
        let json = try object(try await scene.carillon(["check", "shop", "--connect", "--json"]))
        let connect = try #require(json["apps"]?.elements?.first?["connect"])
        #expect(connect["outcome"]?.string == "accepted" && connect["reason"]?.string == "BadDeviceToken")
        #expect(
            connect["status"]?.integer == 400 && connect["address"]?.string != nil && connect["took_ms"]?.number != nil)
        let received = try await scene.simulator.ask("/received")
        #expect(received.contains(String(repeating: "0", count: 64)) && received.contains("background"))
    }

    @Test func `Each failure has an explanation and an exit code`() async throws {
        let scene = try await TrialScene()
        _ = try scene.directory.write("carillon.json5", containing: scene.configuration)
        let faults: [(rule: String, status: Int32, words: String)] = [
            ("answer: { status: 403, reason: 'InvalidProviderToken' }", 77, "compare key, key_id and team_id"),
            ("answer: { status: 403, reason: 'BadEnvironmentKeyIdInToken' }", 77, "use a key of the app's environment"),
            ("answer: { status: 400, reason: 'TopicDisallowed' }", 77, "compare the app's topic"),
            ("answer: { status: 403, reason: 'BadCertificateEnvironment' }", 77, "the certificate is for the other"),
            ("answer: { status: 429, reason: 'TooManyRequests' }", 75, "failed: 429 TooManyRequests"),
            ("answer: { status: 413, reason: 'PayloadTooLarge' }", 1, "failed: 413 PayloadTooLarge"),
            ("on: 'connect', tls: 'expired_certificate'", 69, "certificate CN=localhost expired"),
            ("on: 'connect', refuse: true", 69, "cannot connect to|connection lost"),
        ]
        for (rule, status, words) in faults {
            try await scene.fault(rule)
            let ended = try await scene.carillon(["check", "shop", "--connect"])
            #expect(ended.status == status, "\(rule): \(ended.output)")
            // A refused connection is noticed while connecting, or just after.
            let isSaid = words.split(separator: "|").contains { ended.output.contains($0) }
            #expect(ended.output.contains("shop: failed: ") && isSaid, "\(ended.output)")
        }
        try await scene.fault("on: 'connect', silence: true")
        let silent = try await scene.carillon(["check", "shop", "--connect", "--timeout", "300ms"])
        #expect(silent.status == 69, "\(silent.output)")
        try await scene.fault("on: 'binary_connect', tls: 'refuse'")
        let binary = try await bell(scene)
        #expect(binary.status != 0 && binary.output.contains("bell: failed: "), "\(binary.output)")
        try await scene.fault("on: 'binary_connect', close: true")
        let closed = try await bell(scene)
        #expect(closed.status == 77 && closed.output.contains("they reject the certificate"), "\(closed.output)")
    }

    /// Checks the app of the binary protocol, whose connection the simulator ends. The check waits a second for this end,
    /// which a busy simulator misses: then it is made again.
    private func bell(_ scene: TrialScene) async throws -> ChildProcess.Ended {
        var ended = try await scene.carillon(["check", "bell", "--connect"])
        while ended.output.contains("the connection stayed open") {
            ended = try await scene.carillon(["check", "bell", "--connect"])
        }
        return ended
    }

    @Test func `A faulty file does not prevent the check of other apps`() async throws {
        let scene = try await TrialScene()
        let more = scene.configuration.replacing(
            " apps: {",
            with: """
                 apps: {
                  gone: { topic: "com.example.gone", environment: "sandbox", credential: { certificate: "nope.p12" } },
                  soon: { topic: "com.example.soon", environment: "sandbox", credential: { certificate: "soon.pem" },
                    endpoint: { host: "127.0.0.1", port: 1, trust: "simulator/ca.pem" } },
                """)
        let now = WallTime.current().milliseconds
        let soon = try TestCertificates.shared.authority.issue(
            CertificateRequest(
                commonName: "soon", usage: .client, userID: "com.example.soon",
                validity: CertificateValidity(
                    notBefore: WallTime(milliseconds: now - 86_400_000),
                    notAfter: WallTime(milliseconds: now + 10 * 86_400_000 + 60_000))))
        _ = try scene.directory.write("soon.pem", containing: soon.certificatePEM + soon.privateKeyPEM)
        _ = try scene.directory.write("carillon.json5", containing: more)
        let ended = try await scene.carillon(["check", "--connect"])
        #expect(ended.status == 78, "\(ended.output)")
        for text in [
            "gone: fault: cannot open ./nope.p12: No such file", "soon: warning: the certificate expires in 10 days",
            "soon: failed: cannot connect to 127.0.0.1:1", "shop: passed: ", "bell: passed: ", "not tried\n",
        ] { #expect(ended.output.contains(text), "\(text): \(ended.output)") }
        let json = try object(try await scene.carillon(["check", "--json"]))
        #expect(json["ok"]?.boolean == false && json["exit_code"]?.integer == 78)
        _ = try scene.directory.write("broken.json5", containing: "{ apps: { shop: { topik: 1 } }, dta: 1 }")
        let broken = try await scene.carillon(["check", "--config", "broken.json5"])
        #expect(broken.status == 78 && broken.errors.contains("did you mean \"topic\"?"), "\(broken.errors)")
        let faults = try object(try await scene.carillon(["check", "--config", "broken.json5", "--json"]))["faults"]
        #expect(faults?.strings?.count ?? 0 > 3)
        #expect(try await scene.carillon(["check", "--config", "absent.json5"]).status == 78)
    }

    @Test func `A sandbox key in production is reported`() async throws {
        let key = try ES256PrivateKey.generate()
        try await withApple(key: key) { options in
            options.settings.keys = [ProviderKey(keyID: "ABC123DEFG", teamID: "DEF123GHIJ", environment: .sandbox)]
        } _: { port, _, directory in
            _ = try directory.write(
                "carillon.json5",
                containing: """
                    { http: { listen: "127.0.0.1:0" }, \(ServeScene.anyPorts)
                      apps: { shop: { topic: "com.example.shop", environment: "production",
                      credential: { key: "AuthKey_ABC123DEFG.p8", key_id: "ABC123DEFG", team_id: "DEF123GHIJ" },
                      endpoint: { host: "127.0.0.1", port: \(port), trust: "ca.pem" } } } }
                    """)
            let secrets = Secrets(files: ["\(directory.path)/AuthKey_ABC123DEFG.p8"])
            let ended = try await secrets.run(["check", "--connect"], directory: directory.path)
            #expect(ended.status == 77, "\(ended.output)\(ended.errors)")
            #expect(
                ended.output.contains("403 BadEnvironmentKeyIdInToken: the key is restricted to the other environment"))
        }
    }
}
