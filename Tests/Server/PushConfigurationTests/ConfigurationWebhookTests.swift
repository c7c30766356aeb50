import ServerTestSupport
import TestSupport
import Testing

@testable import PushConfiguration

/// Receivers of events over HTTP.
@Suite struct ConfigurationWebhookTests {
    private static func text(_ webhooks: String) -> String { "{ \(minimalApp), webhooks: \(webhooks) }" }

    private static let whole = """
        { b: { url: "https://b.example.com/x", prefixes: ["device/"], secret_file: "b.hook" },
          a: { url: "http://10.1.2.3:8080", prefixes: ["delivery/shop/rejected", "message/"], secret_file: "/a.hook",
               private_networks: ["10.0.0.0/8"], timeout: "2s", insecure: true, trust: "ca.pem" } }
        """

    @Test func `A webhook has its settings, and is sorted by name`() throws {
        let configuration = try parseConfiguration(Self.text(Self.whole)).configuration
        let (a, b) = (configuration.webhooks[0], configuration.webhooks[1])
        #expect(a.name == "a" && a.address.description == "http://10.1.2.3:8080/" && a.timeout == .seconds(2))
        #expect(a.privateNetworks.map(\.description) == ["10.0.0.0/8"] && a.secretFile == "/a.hook" && a.insecure)
        #expect(b.timeout == .seconds(15) && b.trust == .system && b.privateNetworks.isEmpty && !b.insecure)
    }

    @Test func `A reload changes webhooks at once`() throws {
        let old = try parseConfiguration(Self.text("{}")).configuration
        let new = try parseConfiguration(Self.text(Self.whole)).configuration
        #expect(old.changes(to: new).map(\.path) == ["webhooks.a", "webhooks.b"])
        #expect(old.reloaded(to: new).webhooks == new.webhooks)
        #expect(new.reloaded(to: old).webhooks.isEmpty)
    }

    @Test(
        arguments: [
            ("url: \"http://a.example\", prefixes: [\"device/\"], secret_file: \"s\"", "a.url", "insecure: true"),
            ("url: \"ftp://a.example\", prefixes: [\"device/\"], secret_file: \"s\"", "a.url", "not the address"),
            ("url: \"https://u@a.example\", prefixes: [\"device/\"], secret_file: \"s\"", "a.url", "not the address"),
            ("prefixes: [\"device/\"], secret_file: \"s\"", "a", "url is missing"),
            ("url: \"https://a.example\", secret_file: \"s\"", "a", "prefixes is missing"),
            ("url: \"https://a.example\", prefixes: [\"device/\"]", "a", "carillon keys webhook"),
            ("url: \"https://a.example\", prefixes: [], secret_file: \"s\"", "a.prefixes", "1 to 100"),
            (
                "url: \"https://a.example\", prefixes: [\"delivry/\"], secret_file: \"s\"", "a.prefixes[0]",
                "no topic begins so"
            ),
            (
                "url: \"https://a.example\", prefixes: [\"d\"], secret_file: \"s\", private_networks: [\"10.0.0.1/8\"]",
                "a.private_networks[0]", "did you mean"
            ),
        ])
    func `A fault names its place`(members: String, path: String, text: String) throws {
        let faults = configurationFaults(Self.text("{ a: { \(members) } }"))
        let fault = try #require(faults.first)
        #expect(faults.count == 1 && fault.path == "webhooks.\(path)" && fault.problem.contains(text), "\(faults)")
    }

    @Test func `A file has one or two secrets, and its faults do not repeat them`() throws {
        let directory = try TemporaryDirectory()
        let (one, two) = (WebhookSecrets.new(), WebhookSecrets.new())
        #expect(one != two && one.hasPrefix("whsec_") && one.hasSuffix("\n"))
        let single = try WebhookSecrets(file: try directory.write("one", containing: one))
        let both = try WebhookSecrets(file: try directory.write("two", containing: " \(two)\n\(one)\n"))
        #expect(single.keys.count == 1 && both.keys == [both.keys[0], single.keys[0]])
        for text in ["", one + one + one, "whsec_c2hvcnQ=\n", String(one.dropFirst(6)), "whsec_!!!\n"] {
            let path = try directory.write("bad", containing: text)
            let fault = #expect(throws: WebhookSecrets.Fault.self) { try WebhookSecrets(file: path) }
            #expect(fault?.description.contains("whsec_c") == false && fault?.description.contains(path) == true)
        }
    }

    @Test func `The signature is that of the standard`() throws {
        // The example of https://github.com/standard-webhooks/standard-webhooks.
        let directory = try TemporaryDirectory()
        let secrets = try WebhookSecrets(
            file: try directory.write("s", containing: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
        let signature = secrets.signature(
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp: 1_614_265_330, body: Array("{\"test\": 2432232314}".utf8))
        #expect(signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    }
}
