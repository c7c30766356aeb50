import FCM
import PushModel
import ServerTestSupport
import Testing

@testable import PushConfiguration

/// Apps at Firebase Cloud Messaging.
@Suite struct ConfigurationFCMTests {
    private func app(_ members: String) throws -> Configuration.App {
        let text = "{ apps: { android: { service: \"fcm\", \(members) } } }"
        return try #require(try parseConfiguration(text).configuration.app("android"))
    }

    private func faults(_ members: String) -> [ConfigurationFault] {
        configurationFaults("{ apps: { a: { \(members) } } }")
    }

    @Test func `An app needs its service account and nothing else`() throws {
        let app = try app("credential: { service_account: \"firebase.json\" }")
        guard case .fcm(let settings) = app.service else {
            Issue.record("not an app at FCM")
            return
        }
        #expect(settings.serviceAccount.hasSuffix("/firebase.json") && settings.perMinute == 600_000)
        #expect(app.endpoint == Configuration.Endpoint(host: "fcm.googleapis.com", port: 443))
        #expect(app.apns == nil && app.deliveriesPerMinute == 600_000)
        #expect(app.codec is FCMCodec && app.serviceDescription == .fcm)
        #expect(app.credentialFiles == [settings.serviceAccount])
    }

    @Test func `The quota and the endpoint are settings`() throws {
        let app = try app(
            "credential: { service_account: \"/f.json\" }, quota: { per_minute: 1200 }, "
                + "endpoint: { host: \"127.0.0.1\", port: 2443, trust: \"/ca.pem\" }")
        #expect(app.deliveriesPerMinute == 1200)
        #expect(app.endpoint == Configuration.Endpoint(host: "127.0.0.1", port: 2443, trust: .file("/ca.pem")))
    }

    @Test(
        arguments: [
            ("service: \"fcm\"", "apps.a.credential", "service_account"),
            ("service: \"fcm\", credential: { key: \"k.p8\" }", "apps.a.credential.key", "service: \"apns\""),
            (
                "service: \"fcm\", credential: { service_account: \"f\" }, topic: \"com.example\"", "apps.a.topic",
                "service: \"apns\""
            ),
            (
                "service: \"fcm\", credential: { service_account: \"f\" }, gateway: { protocol: \"binary\" }",
                "apps.a.gateway.protocol", "service: \"apns\""
            ),
            (
                "service: \"fcm\", credential: { service_account: \"f\" }, endpoint: { host: \"example.com\" }",
                "apps.a.endpoint", "trust is missing"
            ),
            (
                "service: \"fcm\", credential: { service_account: \"f\" }, quota: { per_minute: 0 }",
                "apps.a.quota.per_minute", "whole number"
            ),
            ("service: \"gcm\"", "apps.a.service", "did you mean \"fcm\"?"),
            (
                "topic: \"t\", environment: \"production\", credential: { service_account: \"f\" }",
                "apps.a.credential.service_account", "service: \"fcm\""
            ),
            (
                "topic: \"t\", environment: \"production\", credential: { certificate: \"c.p12\" }, "
                    + "quota: { per_minute: 1 }", "apps.a.quota.per_minute", "service: \"fcm\""
            ),
        ])
    func `A setting that does not fit is a fault at its place`(_ members: String, _ path: String, _ words: String) {
        let faults = faults(members)
        #expect(faults.contains { $0.path == path && $0.problem.contains(words) }, "\(faults)")
    }

    @Test func `A changed file is one of connections, and another service needs a restart`() throws {
        let parse = { (members: String) in
            try parseConfiguration("{ apps: { a: { \(members) } } }").configuration
        }
        let old = try parse("service: \"fcm\", credential: { service_account: \"/f.json\" }")
        let other = try parse(
            "service: \"fcm\", credential: { service_account: \"/g.json\" }, quota: { per_minute: 60 }")
        #expect(old.changes(to: other).map(\.path) == ["apps.a.credential.service_account", "apps.a.quota.per_minute"])
        #expect(old.changes(to: other).map(\.reload) == [.perConnection, .live])
        #expect(old.reloaded(to: other) == other)
        let apns = try parse("topic: \"t\", environment: \"production\", credential: { certificate: \"/c.p12\" }")
        #expect(old.changes(to: apns).allSatisfy { $0.reload == .restart || $0.path == "apps.a" })
        #expect(old.reloaded(to: apns) == old)
        let none = try parseConfiguration("{ apps: {} }").configuration
        #expect(none.changes(to: old).map(\.description) == ["apps.a: added, /f.json: applies now"])
    }

    @Test func `A pasted address is that of the service which can read it, and a cut one is of the first`() {
        for text in ["cHk3b2Pq-1x_ZZaabbccdd", "cHk3b2Pq-1x_ZZaabbccdd:APA91b" + String(repeating: "x", count: 130)] {
            #expect(PushServices.codec(reading: text) is FCMCodec, "\(text)")
        }
        let token = String(repeating: "ab", count: 32)
        for text in [token, token.uppercased(), "<\(token)>", String(token.dropLast(8)), "abcd", "x", ""] {
            #expect(!(PushServices.codec(reading: text) is FCMCodec), "\(text)")
        }
    }
}
