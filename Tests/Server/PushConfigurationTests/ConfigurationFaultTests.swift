import PushTransport
import ServerTestSupport
import Testing

@testable import PushConfiguration

@Suite struct ConfigurationFaultTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let text: String
        let line: Int
        let path: String
        let problem: String

        init(_ text: String, _ line: Int, _ path: String, _ problem: String) {
            (self.text, self.line, self.path, self.problem) = (text, line, path, problem)
        }

        var testDescription: String { "\(path): \(problem)" }
    }

    static func app(_ part: String, environment: String = "production") -> String {
        """
        { apps: { a: {
        topic: "t", environment: "\(environment)",
        credential: { key: "k.p8", key_id: "ABC123DEFG", team_id: "DEF123GHIJ" },
        \(part)
        } } }
        """
    }

    static let z85 = "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"

    static let cases: [Case] = [
        Case("", 1, "", "this is not JSON5: it is empty"),
        Case("{\n data: 1\n x: 2 }", 3, "", "a comma or a closing brace is missing"),
        Case("[1]", 1, "", "the file must hold one object, { … }, not an array"),
        Case("{}", 1, "", "there is no app"),
        // Unknown and repeated keys.
        Case("{ \(minimalApp),\n intak: {} }", 3, "intak", "there is no key \"intak\" here; did you mean \"intake\"?"),
        Case("{ \(minimalApp),\n insecure: true }", 3, "insecure", "it belongs to http.insecure or security.insecure"),
        Case("{ \(minimalApp),\n zzzzzzzz: 1 }", 3, "zzzzzzzz", "known keys: data, store, cluster, intake, events,"),
        Case("{ \(minimalApp), log: {\n levle: 'info' } }", 3, "log.levle", "did you mean \"level\"?"),
        Case("{ \(minimalApp), data: 'a',\n data: 'b' }", 3, "data", "this key is repeated; keep one"),
        Case(app("gateway: { conections: {} }"), 4, "apps.a.gateway.conections", "did you mean \"connections\"?"),
        // The registration without keys.
        Case(
            "{ \(minimalApp), http: { legacy_registration: {\n app: 'nobody' } } }", 3, "http.legacy_registration.app",
            "there is no app \"nobody\""),
        Case(
            "{ \(minimalApp), http: { legacy_registration: {\n path: '/x' } } }", 2, "http.legacy_registration",
            "app is missing"),
        Case(
            "{ \(minimalApp), http: { legacy_registration: {\n app: 'a', path: '/v1/{x}' } } }", 3,
            "http.legacy_registration.path", "the path is not usable"),
        // The door for clients of gorush.
        Case("{ \(minimalApp), doors: { gorush: {\n sync: true } } }", 2, "doors.gorush", "apps is missing"),
        Case(
            "{ \(minimalApp), doors: { gorush: { apps: {\n ios: 'nobody' } } } }", 3, "doors.gorush.apps.ios",
            "there is no app \"nobody\""),
        Case(
            "{ \(minimalApp), doors: { gorush: { apps: {\n android: 'shop' } } } }", 3, "doors.gorush.apps.android",
            "the app \"shop\" is not one of FCM"),
        Case(
            "{ \(minimalApp), doors: { gorush: { apps: { ios: 'shop' },\n path: '/v1/push' } } }", 3,
            "doors.gorush.path", "the path is not usable"),
        Case(
            "{ \(minimalApp), http: { legacy_registration: { app: 'shop', path: '/x' } }, doors: { gorush: { "
                + "apps: { ios: 'shop' },\n path: '/x' } } }", 3, "doors.gorush.path",
            "the path is also that of http.legacy_registration"),
        Case(
            "{ \(minimalApp), dedupe: { window: '1m' }, doors: { gorush: { apps: { ios: 'shop' },\n dedupe: '2m' } } }",
            3, "doors.gorush.dedupe", "it is longer than dedupe.window"),
        // Types of values.
        Case("{ \(minimalApp),\n data: 5 }", 3, "data", "this must be text in quotes, not a number"),
        Case("{ \(minimalApp),\n data: '' }", 3, "data", "this must be text in quotes, not an empty string"),
        Case("{ \(minimalApp),\n data: null }", 3, "data", "null is not allowed; leave out the key"),
        Case("{ \(minimalApp),\n data: '~/x' }", 3, "data", "\"~\" is not expanded here"),
        Case("{ \(minimalApp),\n intake: 'tcp' }", 3, "intake", "this must be an object, { … }, not a string"),
        Case(
            "{ \(minimalApp),\n apps2: 1, dedupe: { window: 7 } }", 3, "dedupe.window",
            "a duration is text with its unit"),
        Case(
            "{ \(minimalApp),\n dedupe: { window: '7 days' } }", 3, "dedupe.window",
            "\"7 days\" is not a duration; write \"250ms\""),
        Case(
            "{ \(minimalApp),\n dedupe: { window: '1s' } }", 3, "dedupe.window",
            "\"1s\" is out of range; it must be from 1m to 366d"),
        Case(
            "{ \(minimalApp),\n events: { retention: { size: 5 } } }", 3, "events.retention.size",
            "a size is text with its unit"),
        Case(
            "{ \(minimalApp),\n events: { retention: { size: '5' } } }", 3, "events.retention.size",
            "\"5\" is not a size"),
        Case(
            "{ \(minimalApp),\n events: { retention: { size: '5B' } } }", 3, "events.retention.size",
            "from 1MiB to 1024TiB"),
        Case(
            "{ \(minimalApp),\n log: { level: 'warn' } }", 3, "log.level",
            "\"warn\" is not one of trace, debug, info, notice, warning, error"),
        Case("{ \(minimalApp),\n log: { format: 'jsn' } }", 3, "log.format", "did you mean \"json\"?"),
        Case(
            "{ \(minimalApp),\n security: { insecure: 'yes' } }", 3, "security.insecure",
            "this must be true or false, not a string"),
        // Sockets.
        Case(
            "{ \(minimalApp),\n intake: { router: '127.0.0.1:1' } }", 3, "intake.router",
            "is not an endpoint; write \"tcp://127.0.0.1:5560\""),
        Case(
            "{ \(minimalApp),\n intake: { router: 'tcp://host:1' } }", 3, "intake.router",
            "\"host\" is not an IP address"),
        Case("{ \(minimalApp),\n intake: { router: 'tcp://127.0.0.1:x' } }", 3, "intake.router", "is not an endpoint"),
        Case("{ \(minimalApp),\n intake: { router: 'ipc://' } }", 3, "intake.router", "is not an endpoint"),
        Case("{ \(minimalApp),\n intake: { router: 'ipc://@name' } }", 3, "intake.router", "does not name a file"),
        Case("{ \(minimalApp),\n security: { ipc_mode: '0666' } }", 3, "security.ipc_mode", "not one of 0600, 0660"),
        Case(
            "{ \(minimalApp),\n intake: { router: 'tcp://127.0.0.1:5561' } }", 3, "intake.router",
            "is also the endpoint of intake.pull"),
        Case(
            "{ \(minimalApp),\n events: { publish: 'ipc:///a',\n replay: 'ipc:///a' } }", 4, "events.replay",
            "is also the endpoint of events.publish"),
        Case(
            "{ \(minimalApp),\n events: { publish: 'tcp://127.0.0.1:7000' },\n http: { listen: 'localhost:7000' } }", 4,
            "http.listen", "conflicts with the endpoint of events.publish"),
        Case(
            "{ \(minimalApp),\n http: { listen: '127.0.0.1:5560' } }", 3, "http.listen",
            "tcp://127.0.0.1:5560 is also the endpoint of intake.router"),
        Case(
            "{ \(minimalApp),\n intake: { router: 'tcp://0.0.0.0:5561' } }", 3, "intake.router",
            "tcp://0.0.0.0:5561 conflicts with the endpoint of intake.pull, tcp://127.0.0.1:5561"),
        Case(
            "{ \(minimalApp),\n events: { publish: 'tcp://[::]:7000',\n replay: 'tcp://[::1]:7000' } }", 4,
            "events.replay", "conflicts with the endpoint of events.publish"),
        Case(
            "{ \(minimalApp),\n events: { publish: 'tcp://0.0.0.0:5570' } }", 3, "events.publish",
            "other machines can reach tcp://0.0.0.0:5570 without a key: set security.curve.secret_key_file"),
        Case("{ \(minimalApp),\n intake: { pull: 'tcp://*:1' } }", 3, "intake.pull", "other machines can reach"),
        Case("{ \(minimalApp),\n intake: { pull: 'tcp://[::]:1' } }", 3, "intake.pull", "other machines can reach"),
        Case(
            "{ \(minimalApp),\n http: { listen: 'here' } }", 3, "http.listen",
            "\"here\" is not an IP address with a port"),
        Case(
            "{ \(minimalApp),\n http: { listen: '0.0.0.0:80' } }", 3, "http.listen",
            "without http.tls nothing is encrypted: set http.tls, listen on 127.0.0.1, or set http.insecure: true"),
        Case("{ \(minimalApp),\n http: { listen: 'host:80' } }", 3, "http.listen", "is not an IP address with a port"),
        Case("{ \(minimalApp), http: {\n tls: { key: 'k' } } }", 3, "http.tls", "certificate is missing"),
        // Security.
        Case(
            "{ \(minimalApp), security: {\n clients: { c: {\n public_key: '\(z85)' } } } }", 3, "security.clients.c",
            "client c cannot be identified without"),
        Case(
            "{ \(minimalApp), security: { curve: { secret_key_file: 's' }, clients: {\n c: { push: ['shop'] } } } }", 3,
            "security.clients.c", "public_key is missing"),
        Case(
            "{ \(minimalApp), security: { curve: { secret_key_file: 's' }, clients: { c: {\n public_key: 'short' } } } }",
            3,
            "security.clients.c.public_key", "this is not a public key: 40 characters of Z85"),
        Case(
            "{ \(minimalApp), security: { curve: { secret_key_file: 's' }, clients: { c: { public_key: '\(z85)',\n push: ['shpo'] } } } }",
            3, "security.clients.c.push[0]", "there is no app \"shpo\"; did you mean \"shop\"?"),
        Case(
            "{ \(minimalApp), security: { curve: { secret_key_file: 's' }, clients: { c: { public_key: '\(z85)',\n push: 'shop' } } } }",
            3, "security.clients.c.push", "this must be a list of strings"),
        Case(
            "{ \(minimalApp), security: { curve: { secret_key_file: 's' }, clients: { c: { public_key: '\(z85)', push: ['shop',\n 5] } } } }",
            3, "security.clients.c.push[1]", "this must be text in quotes, not 5"),
        Case(
            "{ \(minimalApp), security: { curve: { secret_key_file: 's' }, clients: { c: { public_key: '\(z85)', push: ['shop',\n 'news'] } } } }",
            3, "security.clients.c.push[1]", "there is no app \"news\"; there are shop"),
        Case(
            "{ \(minimalApp), security: { curve: { secret_key_file: 's' }, clients: { c: { public_key: '\(z85)', push: ['shop'] },\n d: { observe: true, public_key: '\(z85)' } } } }",
            3, "security.clients.d.public_key", "this is also the key of client c"),
        Case(
            "{ \(minimalApp), security: { curve: { secret_key_file: 's' }, clients: {\n 'a b': { observe: true, public_key: '\(z85)' } } } }",
            3, "security.clients.a b", "is not a client name"),
        Case(
            "{ \(minimalApp), security: {\n curve: {} } }", 3, "security.curve",
            "secret_key_file is missing; `carillon keys curve` makes one"),
        Case("{ \(minimalApp), http: {\n tls: {} } }", 3, "http.tls", "certificate is missing"),
        // Apps.
        Case(app("").replacing(" a: {", with: " 'a/b': {"), 1, "apps.a/b", "\"a/b\" is not an app id"),
        Case("{ apps: { a:\n 5 } }", 2, "apps.a", "this must be an object"),
        Case(app("").replacing("topic: \"t\",", with: ""), 1, "apps.a", "topic is missing"),
        Case(app("").replacing("\"t\"", with: "\"a b\""), 2, "apps.a.topic", "\"a b\" is not a bundle id"),
        Case(app("").replacing("environment: \"production\",", with: ""), 1, "apps.a", "environment is missing"),
        Case(app("", environment: "prod"), 2, "apps.a.environment", "\"prod\" is not one of production, sandbox"),
        Case(
            "{ apps: { a: { topic: 't', environment: 'sandbox', credential: { certificate: 'c' } },\n b: {\n topic: 't', environment: 'sandbox', credential: { certificate: 'c' } } } }",
            3, "apps.b.topic", "app a has t in sandbox already"),
        // Credentials.
        Case(
            "{ apps: { a: { topic: 't', environment: 'sandbox',\n credential: {} } } }", 2, "apps.a.credential",
            "a credential is missing: { key:"),
        Case(
            "{ apps: { a: { topic: 't', environment: 'sandbox' } } }", 1, "apps.a.credential", "a credential is missing"
        ),
        Case(
            app("").replacing("key_id: \"ABC123DEFG\",", with: ""), 3, "apps.a.credential",
            "key_id is missing: shown with the key"),
        Case(app("").replacing("key: \"k.p8\",", with: ""), 3, "apps.a.credential", "key is missing: the .p8 file"),
        Case(
            app("").replacing("ABC123DEFG", with: "abc"), 3, "apps.a.credential.key_id",
            "\"abc\" is not an id from Apple"),
        Case(
            app("").replacing("key: \"k.p8\"", with: "certificate: 'c'"), 3, "apps.a.credential.key_id",
            "this belongs to a .p8 key, not to a certificate"),
        Case(
            app("").replacing("key: \"k.p8\"", with: "key: 'k', password_file: 'p'"), 3,
            "apps.a.credential.password_file", "a .p8 key has no password"),
        // Gateways.
        Case(
            app("gateway: { connections: { min: 5, max: 2 } }"), 4, "apps.a.gateway.connections.min",
            "min is 5 and max is 2; min must not be greater than max"),
        Case(
            app("gateway: { connections: { min: 0 } }"), 4, "apps.a.gateway.connections.min",
            "a whole number from 1 to 1000, not 0"),
        Case(
            app("gateway: { connections: { max: 1.5 } }"), 4, "apps.a.gateway.connections.max",
            "a whole number from 1 to 1000, not 1.5"),
        Case(app("gateway: { connections: { max: '5' } }"), 4, "apps.a.gateway.connections.max", "not a string"),
        Case(app("gateway: { protocol: 'http' }"), 4, "apps.a.gateway.protocol", "did you mean \"http2\"?"),
        Case(app("gateway: { connects_per_minute: 0 }"), 4, "apps.a.gateway.connects_per_minute", "from 1 to 600"),
        Case(app("gateway: { idle: '1s' }"), 4, "apps.a.gateway.idle", "from 10s to 7d"),
        Case(
            app("gateway: { feedback: { port: 1 } }"), 4, "apps.a.gateway.feedback",
            "only the binary protocol has a feedback service"),
        Case(
            app("gateway: { protocol: 'binary' }, endpoint: { host: 'h', trust: 't' }"), 4, "apps.a.gateway.protocol",
            "the binary protocol does not support provider tokens"),
        Case(
            "{ apps: { a: { topic: 't', environment: 'sandbox', credential: { certificate: 'c' },\n gateway: { protocol: 'binary' } } } }",
            2, "apps.a.gateway.protocol", "Apple ended the binary protocol on 31 March 2021"),
        // Endpoints.
        Case(app("endpoint: { port: 1 }"), 4, "apps.a.endpoint", "host is missing"),
        Case(
            app("endpoint: { host: 'https://h' }"), 4, "apps.a.endpoint.host", "is not a host: a name or an IP address"),
        Case(app("endpoint: { host: '127.0.0.1' }"), 4, "apps.a.endpoint", "trust is missing"),
        Case(
            app("endpoint: { host: 'h', trust: 't', port: 70000 }"), 4, "apps.a.endpoint.port",
            "from 1 to 65535, not 70000"),
        Case(
            app("endpoint: { host: 'api.sandbox.push.apple.com' }"), 4, "apps.a.endpoint.host",
            "is the host of sandbox; the host of production is api.push.apple.com"),
        Case(
            app("endpoint: { host: 'api.push.apple.com', port: 2195 }"), 4, "apps.a.endpoint.port",
            "Apple serves the ports 443 and 2197, not 2195"),
        Case(
            app("endpoint: { host: 'feedback.push.apple.com' }"), 4, "apps.a.endpoint.host",
            "is not a host for pushes to devices"),
        Case(app("broadcast: { send: 'h' }"), 4, "apps.a.broadcast.send", "\"h\" is not a host with a port"),
    ]

    @Test(arguments: cases) func `Each fault names the problem and its line`(_ wrong: Case) throws {
        let all = configurationFaults(wrong.text)
        let fault = try #require(all.first { $0.path == wrong.path && $0.problem.contains(wrong.problem) }, "\(all)")
        guard case .file("/etc/c.json5", let place) = fault.origin else {
            Issue.record("\(fault)"); return
        }
        #expect(place.line == wrong.line, "\(fault)")
        #expect("\(fault)".hasPrefix("/etc/c.json5:\(place.line):\(place.column): "))
    }

    @Test func `All faults are reported together, in the order of the file`() {
        let all = configurationFaults(
            """
            {
              dta: "x",
              dedupe: { window: 7 },
              apps: {
                shop: { topic: "com.example.shop", environment: "prod",
                  credential: { key: "k.p8", key_id: "short" },
                  gateway: { connections: { min: 9, max: 2 } } },
              },
              log: { level: "loud" },
            }
            """, environment: ["CARILLON_HTTP_LISTEN": "nowhere"])
        #expect(
            all.map { "\($0)".prefix { $0 != ";" } } == [
                "/etc/c.json5:2:3: dta: there is no key \"dta\" here",
                "/etc/c.json5:3:21: dedupe.window: a duration is text with its unit: \"250ms\", \"5s\", \"10m\", \"2h\" or \"7d\", not a number",
                "/etc/c.json5:5:53: apps.shop.environment: \"prod\" is not one of production, sandbox",
                "/etc/c.json5:6:19: apps.shop.credential: team_id is missing: shown with the membership in Apple's developer account",
                "/etc/c.json5:6:42: apps.shop.credential.key_id: \"short\" is not an id from Apple: 10 capital letters and digits",
                "/etc/c.json5:7:38: apps.shop.gateway.connections.min: min is 9 and max is 2",
                "/etc/c.json5:9:17: log.level: \"loud\" is not one of trace, debug, info, notice, warning, error",
                "environment variable CARILLON_HTTP_LISTEN: http.listen: \"nowhere\" is not an IP address with a port",
            ])
    }

    /// Configurations that are accepted, each with the path and the text of its only warning.
    static let warned: [(String, String, String)] = [
        (
            "{ \(minimalApp.replacing("com.example.shop", with: "a.push-type.liveactivity")) }", "apps.shop.topic",
            "write the bundle id alone"
        ),
        (
            app("").replacing("k.p8", with: "AuthKey_XYZ123DEFG.p8"), "apps.a.credential.key_id",
            "the name of the key file is XYZ123DEFG, but this is ABC123DEFG"
        ),
        (
            "{ \(minimalApp), security: { curve: { secret_key_file: 's' } } }", "security.curve",
            "no client can connect over TCP"
        ),
        (
            "{ \(minimalApp), security: { insecure: true, curve: { secret_key_file: 's' } } }", "security.insecure",
            "this has no effect"
        ),
        (
            "{ \(minimalApp), security: { curve: { secret_key_file: 's' }, clients: { c: { public_key: '\(z85)' } } } }",
            "security.clients.c", "this client has no rights"
        ),
        (
            "{ \(minimalApp), intake: { pull: 'ipc:///run/c' }, security: { curve: { secret_key_file: 's' }, "
                + "clients: { c: { public_key: '\(z85)', observe: true } } } }",
            "intake.pull", "security.curve does not cover ipc"
        ),
    ]

    @Test func `A store of several databases is refused by name, and a size of the log has no effect with a store`()
        throws
    {
        let node = "cluster: { node: 'a' }"
        let faults = configurationFaults(
            "{ \(minimalApp), \(node), store: { '0-31': 'postgres://a/b', '32-63': 'postgres://c/d' } }")
        #expect(faults.count == 1 && faults[0].path == "store", "\(faults)")
        #expect(faults[0].problem.hasPrefix("one database is supported"), "\(faults)")
        let store = "store: 'postgres://u@a/b'"
        let warnings = try parseConfiguration(
            "{ \(minimalApp), \(node), \(store), events: { retention: { size: '2GiB' } } }"
        ).warnings
        #expect(warnings.map(\.path) == ["events.retention.size"], "\(warnings)")
        let file = "{ \(minimalApp), events: { retention: { size: '2GiB' } } }"
        #expect(try parseConfiguration(file).warnings.isEmpty)
    }

    @Test(arguments: warned) func `A doubtful setting is accepted with a warning`(
        _ text: String, _ path: String, _ problem: String
    ) throws {
        let warnings = try parseConfiguration(text).warnings
        #expect(warnings.count == 1)
        #expect(warnings.contains { $0.path == path && $0.problem.contains(problem) }, "\(warnings)")
    }

    @Test(
        arguments: [
            ("tcp://127.0.0.1:1", "tcp://127.0.0.2:1", false), ("tcp://*:1", "tcp://127.0.0.1:1", true),
            ("tcp://*:1", "tcp://0.0.0.0:1", true), ("tcp://*:1", "tcp://*:2", false),
            ("tcp://*:0", "tcp://*:0", false),
            ("tcp://[::]:1", "tcp://127.0.0.1:1", false), ("tcp://[::]:1", "tcp://[::1]:1", true),
            ("tcp://[0:0::1]:1", "tcp://[::1]:1", true), ("tcp://localhost:1", "tcp://127.0.0.1:1", true),
            ("ipc://a", "ipc://a", true), ("ipc://a", "ipc://b", false), ("off", "off", false),
            ("off", "ipc://a", false),
        ] as [(String, String, Bool)])
    func `Two endpoints conflict if they cannot both be bound`(_ one: String, _ two: String, _ exclude: Bool) throws {
        func bind(_ text: String) throws -> Bind {
            if text == "off" { return .off }
            if text.hasPrefix("ipc://") { return .ipc(String(text.dropFirst(6))) }
            return .tcp(try #require(HostPort(String(text.dropFirst(6)))))
        }
        #expect(try bind(one).excludes(try bind(two)) == exclude)
        #expect(try bind(two).excludes(try bind(one)) == exclude)
    }
}
