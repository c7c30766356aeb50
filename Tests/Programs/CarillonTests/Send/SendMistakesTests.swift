import FoundationEssentials
import PushLoop
import PushTransport
import TestSupport
import TestTraits
import Testing

@testable import carillon

/// Tests of the errors that `carillon send` reports before it connects.
@Suite(.waits) struct SendMistakesTests {
    private let directory: TemporaryDirectory
    private let issued: IssuedCertificate

    init() async throws {
        directory = try TemporaryDirectory()
        let key = try ES256PrivateKey.generate()
        _ = try directory.write("AuthKey_ABC123DEFG.p8", containing: key.pem)
        _ = try directory.write("ca.pem", containing: TestCertificates.shared.authority.certificatePEM)
        let now = WallTime.current().milliseconds
        issued = try Self.issue("com.example.shop", from: now - 86_400_000, to: now + 300 * 86_400_000)
        let expired = try Self.issue("com.example.shop", from: now - 40 * 86_400_000, to: now - 10 * 86_400_000)
        _ = try directory.write("push.pem", containing: issued.certificatePEM + issued.privateKeyPEM)
        _ = try directory.write("expired.pem", containing: expired.certificatePEM + expired.privateKeyPEM)
        let other = TestCertificates.shared.client
        _ = try directory.write("other.pem", containing: other.certificatePEM + other.privateKeyPEM)
        _ = try directory.write("wrong.txt", containing: "guess")
    }

    private static func issue(_ topic: String, from: Int64, to: Int64) throws -> IssuedCertificate {
        try TestCertificates.shared.authority.issue(
            CertificateRequest(
                commonName: "Apple Push Services: \(topic)", usage: .client, userID: topic,
                validity: CertificateValidity(
                    notBefore: WallTime(milliseconds: from), notAfter: WallTime(milliseconds: to))))
    }

    private static let app = ["--topic", "com.example.shop", "--environment", "production"]
    private static let keyApp = app + ["--key", "AuthKey_ABC123DEFG.p8", "--team-id", "DEF123GHIJ"]
    private static let device = ["--token", TrialScene.token]
    private static let all = keyApp + device

    /// Wrong arguments, each with the exit code and a part of the error.
    private static let wrong: [([String], Int32, String)] = [
        // The app.
        (device + ["--title", "x"], 78, "or describe the app with --topic"),
        (["--environment", "production"] + device, 64, "'--topic' is needed"),
        (["--topic", "a b"] + device, 64, "is not a bundle id"),
        (["--topic", "com.example.shop"] + device, 64, "'--environment' is needed"),
        (["--topic", "a", "--environment", "live"] + device, 64, "production or sandbox, not 'live'"),
        (app + device, 64, "a credential is needed"),
        (app + ["--key", "k.p8", "--team-id", "DEF123GHIJ"], 64, "'--key-id' is needed"),
        (app + ["--key", "AuthKey_ABC123DEFG.p8"], 64, "'--team-id' is needed"),
        (app + ["--certificate", "push.pem", "--key-id", "ABC123DEFG"], 64, "needs a provider key"),
        (keyApp + ["--password-file", "wrong.txt"], 64, "a .p8 file has no password"),
        (keyApp + ["--app", "shop"], 64, "'--app' cannot be combined with '--topic'"),
        (keyApp + ["--port", "1"], 64, "'--port' needs '--host'"),
        (keyApp + ["--host", "127.0.0.1"], 64, "'--trust' is needed"),
        (keyApp + ["--host", "https://x", "--trust", "ca.pem"], 64, "is not a host"),
        (keyApp + ["--host", "127.0.0.1", "--port", "0", "--trust", "ca.pem"], 64, "must be a port"),
        (
            keyApp + ["--host", "api.sandbox.push.apple.com"], 64,
            "does not serve production; use api.push.apple.com"
        ),
        (keyApp + ["--binary"], 64, "'--binary' needs '--host'"),
        (keyApp + ["--binary", "--host", "127.0.0.1", "--trust", "ca.pem"], 64, "'--binary' needs '--certificate'"),
        // The content.
        (all, 64, "no content: give --title"),
        (keyApp + ["--title", "x"], 64, "no target: give --token-file"),
        (all + ["--title", "x", "--payload", "{}"], 64, "'--title' cannot be combined with '--payload'"),
        (all + ["--title", "x", "--push-type", "alrt"], 64, "did you mean 'alert'?"),
        (all + ["--title", "x", "--priority", "7"], 64, "10, 5 or 1, not '7'"),
        (all + ["--title", "x", "--ttl", "soon"], 64, "'--ttl' must be a time"),
        (all + ["--title", "x", "--ttl", "1h", "--expires-at", "0"], 64, "cannot be combined with '--ttl'"),
        (all + ["--title", "x", "--expires-at", "-5"], 64, "seconds since 1970"),
        (all + ["--title", "x", "--apns-id", "1"], 65, "is not a UUID"),
        (all + ["--title", "x", "--apns-id", "1", "--id", "2"], 64, "cannot be combined with '--id'"),
        (all + ["--title", "x", "--id", ""], 64, "the value of '--id' is empty"),
        (all + ["--title", "x", "--timeout", "1"], 64, "'--timeout' must be a time"),
        (all + ["--title", "x", "--custom", "x"], 64, "KEY=JSON"),
        (all + ["--title", "x", "--custom", "x=oops"], 65, "text needs quotation marks"),
        (all + ["--title", "x", "--custom", "aps={}"], 65, "use --payload for those"),
        (all + ["--link", "a:b", "--custom", "link=1"], 64, "cannot be combined with '--link'"),
        (all + ["--badge", "-1"], 64, "'--badge' must be"),
        (all + ["--payload", "absent.json"], 65, "cannot read the payload absent.json: No such file"),
        (all + ["--payload", "/dev/zero"], 65, "/dev/zero has more than 1 MiB: too large for a payload"),
        (all + ["--payload", "/"], 65, "cannot read the payload from /: Is a directory"),
        (all + ["--title", "x", "--collapse-id", String(repeating: "x", count: 65)], 65, "64 are allowed"),
        (all + ["--title", "x", "--push-type", "background", "--priority", "10"], 65, "must not have priority 10"),
        (keyApp + ["--token", "length=32, bytes=0x00fc", "--title", "x"], 65, "is a shortened token"),
        (
            keyApp + ["--token", String(TrialScene.token.dropLast()), "--title", "x"], 65,
            "an odd number of hexadecimal digits (63)"
        ),
        (keyApp + ["--token", "abcd", "--title", "x"], 65, "has 2 bytes; a device token has 32"),
        (keyApp + ["--token", "no token!", "--title", "x"], 65, "neither hexadecimal nor base64"),
        (keyApp + ["--channel", "not base64!", "--payload", "{}"], 65, "is not a channel id"),
        (all + ["--channel", "abcd", "--payload", "{}"], 64, "'--token' cannot be combined with '--channel'"),
        (keyApp + ["--channel", "abcd", "--payload", "{}", "--push-type", "alert"], 64, "Live Activities only"),
        (
            app + [
                "--certificate", "push.pem", "--binary", "--host", "127.0.0.1", "--trust", "ca.pem", "--timeout", "1s",
            ],
            64, "must be 3s or more"
        ),
        // The credential.
        (
            app + ["--key", "absent.p8", "--key-id", "ABC123DEFG", "--team-id", "DEF123GHIJ", "--title", "x"] + device,
            78,
            "cannot open absent.p8"
        ),
        (
            app + ["--key", "rsa.p8", "--key-id", "ABC123DEFG", "--team-id", "DEF123GHIJ", "--title", "x"] + device, 78,
            "use the .p8 file that Apple's developer site gave you"
        ),
        (
            app + ["--key", "AuthKey_ABC123DEFG.p8", "--team-id", "short", "--title", "x"] + device, 78,
            "is not a team id"
        ),
        (app + ["--certificate", "expired.pem", "--title", "x"] + device, 78, "expired at"),
        (
            app + ["--certificate", "other.pem", "--title", "x"] + device, 78,
            "does not cover the topic com.example.shop"
        ),
        (app + ["--certificate", "push.p12", "--title", "x"] + device, 78, "none was given"),
        (
            app + ["--certificate", "push.p12", "--password-file", "wrong.txt", "--title", "x"] + device, 78,
            "wrong password"
        ),
        (all + ["--title", "x", "--host", "127.0.0.1", "--trust", "absent.pem"], 78, "absent.pem"),
    ]

    @Test func `Usage errors are explained without printing secrets`() async throws {
        let rsa = try await ChildProcess.run("openssl", ["genrsa", "2048"])
        _ = try directory.write("rsa.p8", containing: rsa.output)
        let made = try await ChildProcess.run(
            "openssl",
            ["pkcs12", "-export", "-in", "push.pem", "-out", "push.p12", "-passout", "pass:\(TrialScene.password)"],
            directory: directory.path)
        try #require(made.status == 0, "\(made.errors)")
        let secrets = Secrets(
            files: ["AuthKey_ABC123DEFG.p8", "push.pem", "rsa.p8"].map { "\(directory.path)/\($0)" })
        #expect(!secrets.isEmpty)
        for (arguments, status, words) in Self.wrong {
            let ended = try await secrets.run(["send"] + arguments, directory: directory.path)
            #expect(ended.status == status, "\(arguments): \(ended.errors)")
            #expect(ended.errors.contains(words), "\(arguments): \(ended.errors)")
            guard status != 64, words != "64 are allowed", !words.hasPrefix("must not") else { continue }
            let said = try object(try await secrets.run(["send", "--json"] + arguments, directory: directory.path))
            #expect(said["exit_code"]?.integer == Int64(status) && said["meaning"]?.string != nil, "\(arguments)")
        }
        // The right password succeeds, so the failure above was caused by the wrong one.
        _ = try directory.write("right.txt", containing: TrialScene.password + "\n")
        let right = try await secrets.run(
            ["send"] + Self.app + Self.device + [
                "--certificate", "push.p12", "--password-file", "right.txt", "--title", "x", "--dry-run",
            ], directory: directory.path)
        #expect(right.status == 0, "\(right.errors)")
    }
}
