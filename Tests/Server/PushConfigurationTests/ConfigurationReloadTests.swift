import ServerTestSupport
import Testing

@testable import PushConfiguration

@Suite struct ConfigurationReloadTests {
    private func changes(_ old: String, _ new: String) throws -> [String] {
        try parseConfiguration(old).configuration.changes(to: try parseConfiguration(new).configuration).map(
            \.description)
    }

    @Test func `Equal configurations have no changes`() throws {
        #expect(try changes("{ \(minimalApp) }", "{ \(minimalApp), data: './data', log: {} }").isEmpty)
    }

    @Test func `Each change states when it applies`() throws {
        let new = """
            { \(minimalApp.replacing("environment:", with: "gateway: { connections: { max: 9 }, ping_after: '30s' }, environment:")),
              data: "/d", dedupe: { window: "1d" }, http: { tls: { certificate: "/c.pem" } } }
            """
        #expect(
            try changes("{ \(minimalApp) }", new) == [
                "data: /etc/data → /d: needs a restart; until then the old value stays",
                "http.tls: added, /c.pem: needs a restart; until then the old value stays",
                "dedupe.window: 7d → 1d: applies now",
                "apps.shop.gateway.connections.max: 4 → 9: applies now",
                "apps.shop.gateway.ping_after: 1m → 30s: applies to new connections",
            ])
    }

    @Test func `A file that is named like the word for the system's certificates is a change`() throws {
        let app = { (trust: String) in
            minimalApp.replacing(
                "environment:", with: "endpoint: { host: 'api.push.apple.com', trust: '\(trust)' }, environment:")
        }
        // The file of the configuration is in the working directory.
        let parse = { try Configuration.parse(Array("{ \(app($0)) }".utf8), file: "carillon.json5").configuration }
        let (system, file) = (try parse("system"), try parse("./system"))
        #expect(
            system.changes(to: file).map(\.description) == [
                "apps.shop.endpoint.trust: system → ./system: applies to new connections"
            ])
        #expect(file.changes(to: try parse("./system")).isEmpty)
        #expect(file["apps.shop.endpoint.trust"] == "./system")
    }

    @Test func `An added or removed app or client is a single change`() throws {
        let client = """
            security: { curve: { secret_key_file: "/s" }, clients: { c: { public_key: "\(ConfigurationFaultTests.z85)", observe: true } } }
            """
        let other = minimalApp.replacing("shop", with: "news")
        #expect(
            try changes("{ \(minimalApp), security: { curve: { secret_key_file: '/s' } } }", "{ \(other), \(client) }")
                == [
                    "security.clients.c: added, \(ConfigurationFaultTests.z85): applies now",
                    "apps.news: added, com.example.news: applies now",
                    "apps.shop: removed, was com.example.shop: applies now",
                ])
    }

    @Test func `A setting that needs a restart keeps its value on a reload`() throws {
        let old = try parseConfiguration("{ \(minimalApp) }").configuration
        let sandbox = minimalApp.replacing("production", with: "sandbox").replacing("ABC123DEFG", with: "XYZ123DEFG")
        let new = try parseConfiguration(
            """
            { \(sandbox), data: "/d", intake: { pull: "off", expire_after: "2h" }, events: { replay: "off", retention: { age: "1d" } },
              http: { listen: "off", tls: { certificate: "c" } }, security: { insecure: true }, log: { level: "debug" } }
            """
        ).configuration
        let reloaded = old.reloaded(to: new)
        var expected = old
        expected.events.retention.age = .seconds(86_400)
        expected.intake.expireAfter = .seconds(7200)
        expected.log.level = .debug
        #expect(reloaded == expected)
        // The changes state the same: no setting of an app whose environment changes applies before a restart.
        for change in old.changes(to: new) {
            let applies = reloaded[change.path] == change.now
            #expect(applies == (change.reload != .restart), "\(change)")
        }
        #expect(old.changes(to: new).contains { $0.path == "apps.shop.credential.key_id" && $0.reload == .restart })
    }

    @Test(
        arguments: [
            ("gateway: { connections: { max: 9 }, idle: '20s', connects_per_minute: 9 }", true),
            ("limits: { waiting: 5 }", true), ("broadcast: { send: 'h:1', manage: 'h:2' }", true),
            ("gateway: { ping_after: '30s' }", false), ("gateway: { answer_timeout: '9s' }", false),
            ("endpoint: { host: 'api.push.apple.com', port: 2197 }", false),
            ("endpoint: { host: 'api.push.apple.com', trust: 't.pem' }", false),
        ]) func `A setting that applies at once keeps the connections of an app`(_ part: String, _ isSame: Bool) throws
    {
        let app = { (text: String) in try #require(try parseConfiguration("{ \(text) }").configuration.app("shop")) }
        let (old, new) = (
            try app(minimalApp), try app(minimalApp.replacing("environment:", with: "\(part), environment:"))
        )
        #expect(old != new)
        #expect(old.connects(like: new) == isSame && new.connects(like: old) == isSame)
        #expect(!old.connects(like: try app(minimalApp.replacing("com.example", with: "b"))))
    }

    @Test func `The hosts for broadcasts apply at once, because verbs read them`() throws {
        let new = minimalApp.replacing("environment:", with: "broadcast: { send: 'h:1', manage: 'h:2' }, environment:")
        #expect(
            try changes("{ \(minimalApp) }", "{ \(new) }") == [
                "apps.shop.broadcast.send: api.push.apple.com:443 → h:1: applies now",
                "apps.shop.broadcast.manage: api-manage-broadcast.push.apple.com:2196 → h:2: applies now",
            ])
    }

    @Test func `A setting that does not need a restart is in force after a reload`() throws {
        let old = try parseConfiguration("{ \(minimalApp) }").configuration
        let new = try parseConfiguration(
            "{ \(minimalApp.replacing("ABC123DEFG", with: "XYZ123DEFG")), dedupe: { window: '1d' }, log: { format: 'json' } }"
        ).configuration
        #expect(old.reloaded(to: new) == new)
        #expect(!old.changes(to: new).isEmpty)
    }
}
