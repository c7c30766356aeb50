import FCM
import PushModel
import PushTransport
import PushWire
import ServerTestSupport
import TestSupport
import Testing
import WebPush

@testable import PushConfiguration

/// Apps for browsers.
@Suite struct ConfigurationWebPushTests {
    private static let credential = "credential: { vapid: \"/v.pem\", subject: \"mailto:ops@example.com\" }"

    private func app(_ members: String = credential) throws -> Configuration.App {
        let text = "{ apps: { web: { service: \"webpush\", \(members) } } }"
        return try #require(try parseConfiguration(text).configuration.app("web"))
    }

    private func settings(_ members: String = credential) throws -> WebPushSettings {
        var given: WebPushSettings?
        if case .webPush(let settings) = try app(members).service { given = settings }
        return try #require(given)
    }

    private func faults(_ members: String) -> [ConfigurationFault] {
        configurationFaults("{ apps: { a: { \(members) } } }")
    }

    @Test func `An app needs its key and its contact, and sends to the push services of browsers`() throws {
        let app = try app()
        let settings = try settings()
        #expect(settings.vapid == "/v.pem" && settings.subject == "mailto:ops@example.com")
        #expect(settings.origins == OriginRules() && settings.title == nil && settings.navigate == nil)
        #expect(app.apns == nil && app.deliveriesPerMinute == nil && app.wireProtocol == "http2")
        #expect(app.codec is WebPushCodec && app.serviceDescription == .webPush)
        #expect(app.credentialFiles == ["/v.pem", nil] && app.credentialSource.kind == .vapid)
        #expect(app.probe.delivery == nil)
    }

    @Test func `Origins, networks, words and an endpoint are settings`() throws {
        let settings = try settings(
            Self.credential
                + ", origins: [\"Push.Example.com:8443\", \"*.b.example\"], private_networks: [\"10.0.0.0/8\"], "
                + "navigate: \"https://shop.example/\", title: \"Shop\", "
                + "endpoint: { host: \"127.0.0.1\", port: 2543, trust: \"/ca.pem\" }")
        #expect(settings.origins.patterns == ["push.example.com:8443", "*.b.example"])
        #expect(settings.origins.privateNetworks.map(\.description) == ["10.0.0.0/8"])
        #expect(settings.origins.endpoint == Origin(host: "127.0.0.1", port: 2543))
        #expect(settings.title == "Shop" && settings.navigate == "https://shop.example/")
        let rules = settings.origins
        #expect(rules.allow(Origin(host: "x.b.example")) && rules.allow(Origin(host: "127.0.0.1", port: 2543)))
        #expect(!rules.allow(Origin(host: "fcm.googleapis.com")) && !rules.allow(Origin(host: "127.0.0.1")))
    }

    @Test(
        arguments: [
            ("", "apps.a.credential", "keys vapid"), ("credential: { vapid: \"v\" }", "apps.a.credential", "subject"),
            ("credential: { vapid: \"v\", subject: \"ops\" }", "apps.a.credential.subject", "mailto:"),
            ("credential: { vapid: \"v\", subject: \"mailto:a@localhost\" }", "apps.a.credential.subject", "Apple"),
            ("credential: { vapid: \"v\", subject: \"https://localhost\" }", "apps.a.credential.subject", "Apple"),
            ("credential: { vapid: \"v\", subject: \"http://a.example\" }", "apps.a.credential.subject", "mailto:"),
            ("\(credential), origins: [\"https://a.example\"]", "apps.a.origins[0]", "https://"),
            ("\(credential), origins: [\"a.example\", \"*\"]", "apps.a.origins[1]", "host"),
            ("\(credential), origins: []", "apps.a.origins", "empty"),
            ("\(credential), private_networks: [\"10.0.0.1/8\"]", "apps.a.private_networks[0]", "10.0.0.0/8"),
            ("\(credential), navigate: \"/orders\"", "apps.a.navigate", "absolute"),
            ("\(credential), title: \"\"", "apps.a.title", "empty"),
            ("\(credential), endpoint: { trust: \"/ca.pem\" }", "apps.a.endpoint.trust", "endpoint.host"),
            ("\(credential), endpoint: { host: \"127.0.0.1\" }", "apps.a.endpoint", "trust is missing"),
            ("\(credential), topic: \"com.example\"", "apps.a.topic", "service: \"apns\""),
            ("\(credential), quota: { per_minute: 60 }", "apps.a.quota.per_minute", "service: \"fcm\""),
        ])
    func `A setting that does not fit is a fault at its place`(members: String, path: String, words: String) {
        let faults = faults("service: \"webpush\"" + (members.isEmpty ? "" : ", \(members)"))
        #expect(faults.contains { $0.path == path && $0.problem.contains(words) }, "\(faults)")
    }

    @Test func `Other services do not have the settings of browsers`() {
        let fcm = "service: \"fcm\", credential: { service_account: \"f\", vapid: \"v\" }, origins: [\"a.example\"]"
        let paths = faults(fcm).map(\.path)
        #expect(paths.contains("apps.a.credential.vapid") && paths.contains("apps.a.origins"))
        let apns =
            "topic: \"t\", environment: \"production\", credential: { certificate: \"c\" }, navigate: \"https://a/\""
        #expect(faults(apns).map(\.path).contains("apps.a.navigate"))
    }

    @Test func `A changed key or origin is one of connections`() throws {
        let parse = { (members: String) in
            try parseConfiguration("{ apps: { a: { service: \"webpush\", \(members) } } }").configuration
        }
        let old = try parse(Self.credential)
        let new = try parse(Self.credential + ", origins: [\"a.example\"]")
        #expect(old.changes(to: new).map(\.path) == ["apps.a.origins"])
        #expect(old.changes(to: new).map(\.reload) == [.perConnection] && old.reloaded(to: new) == new)
        let none = try parseConfiguration("{ apps: {} }").configuration
        #expect(none.changes(to: old).map(\.description) == ["apps.a: added, /v.pem: applies now"])
    }

    @Test func `A pasted subscription is one of browsers`() {
        let key = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
        let text = #"{"endpoint":"https://a.example/x","keys":{"p256dh":"\#(key)","auth":"BTBZMqHH6r4Tts7J_aSIgg"}}"#
        #expect(PushServices.codec(reading: text) is WebPushCodec)
        #expect(PushServices.codec(reading: " \(text)\n") is WebPushCodec)
    }

    @Test func `A file with a key of P-256 is described for browsers, too, with its public key`() throws {
        let directory = try TemporaryDirectory()
        let key = try ES256PrivateKey.generate()
        let path = try directory.write("vapid.pem", containing: key.pem)
        let description = try PushServices.describeCredential(in: path, password: nil, at: .current())
        #expect(description.content.contains("VAPID"))
        #expect(description.members["public_key"] == .string(VAPIDKey(key).publicKey))
        #expect(description.next.contains("webpush"))
    }
}
