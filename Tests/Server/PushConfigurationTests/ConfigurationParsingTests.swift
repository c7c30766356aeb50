import PushText
import ServerTestSupport
import TestSupport
import TestTraits
import Testing

@testable import PushConfiguration

@Suite struct ConfigurationParsingTests {
    @Test func `A file with only an app gets defaults for all other settings`() throws {
        let configuration = try parseConfiguration("{ \(minimalApp) }").configuration
        var expected = Configuration()
        expected.data = "/etc/data"
        expected.apps = configuration.apps
        #expect(configuration == expected)
        let app = try #require(configuration.app("shop"))
        #expect(app.gateway == Configuration.Gateway())
        #expect(app.endpoint == Configuration.Endpoint(host: "api.push.apple.com", port: 443))
        #expect(configuration["apps.shop.broadcast.send"] == "api.push.apple.com:443")
        #expect(configuration["apps.shop.broadcast.manage"] == "api-manage-broadcast.push.apple.com:2196")
    }

    @Test func `An app in the sandbox uses the hosts of the sandbox`() throws {
        let configuration = try parseConfiguration(
            "{ \(minimalApp.replacing("\"production\"", with: "\"sandbox\"")) }"
        ).configuration
        #expect(configuration["apps.shop.endpoint.host"] == "api.sandbox.push.apple.com")
        #expect(configuration["apps.shop.broadcast.send"] == "api.sandbox.push.apple.com:443")
        #expect(configuration["apps.shop.broadcast.manage"] == "api-manage-broadcast.sandbox.push.apple.com:2195")
    }

    @Test func `A typical file is parsed without warnings`() throws {
        let parsed = try parseConfiguration(
            """
            {
              data: "./data",
              intake: { router: "tcp://127.0.0.1:5560", pull: "tcp://127.0.0.1:5561" },
              events: { publish: "tcp://127.0.0.1:5570", replay: "tcp://127.0.0.1:5571" },
              http: { listen: "127.0.0.1:8470" },
              dedupe: { window: "7d" },
              apps: {
                shop: {
                  topic: "com.example.shop", environment: "sandbox",
                  credential: { certificate: "cert.pem", key: "/keys/key.pem" },
                  gateway: { protocol: "http2", connections: { min: 2, max: 3 } },
                  endpoint: { host: "127.0.0.1", port: 2197, trust: "ca.pem" },
                },
              },
            }
            """)
        #expect(parsed.warnings.isEmpty)
        let app = try #require(parsed.configuration.app("shop"))
        #expect(app.apns?.credential == .pem(certificate: "/etc/cert.pem", key: "/keys/key.pem", passwordFile: nil))
        #expect(app.endpoint == .init(host: "127.0.0.1", port: 2197, trust: .file("/etc/ca.pem")))
        #expect(app.gateway.connections == 2...3)
        #expect(parsed.configuration["apps.shop.broadcast.manage"] == "127.0.0.1:2197")
    }

    /// A part of a file, a setting, and the value that the part gives to it.
    static let values: [(String, String, String)] = [
        (#"data: "/var/lib/carillon""#, "data", "/var/lib/carillon"),
        (#"data: "./x/../y""#, "data", "/etc/x/../y"),
        (#"intake: { router: "tcp://127.0.0.1:0", pull: "off" }"#, "intake.router", "tcp://127.0.0.1:0"),
        (#"intake: { pull: "off" }"#, "intake.pull", "off"),
        (#"intake: { expire_after: "1h" }"#, "intake.expire_after", "1h"),
        (#"intake: { router: "ipc:///run/c" }"#, "intake.router", "ipc:///run/c"),
        (#"intake: { router: "ipc://run/c" }"#, "intake.router", "ipc:///etc/run/c"),
        (#"intake: { router: "tcp://localhost:1" }"#, "intake.router", "tcp://127.0.0.1:1"),
        (#"events: { publish: "tcp://[::1]:7" }"#, "events.publish", "tcp://[::1]:7"),
        (#"events: { replay: "tcp://127.1.2.3:7" }"#, "events.replay", "tcp://127.1.2.3:7"),
        (#"security: { insecure: true }, events: { replay: "tcp://*:7" }"#, "events.replay", "tcp://*:7"),
        (#"events: { retention: { size: "64MiB" } }"#, "events.retention.size", "64MiB"),
        (#"events: { retention: { age: "36h" } }"#, "events.retention.age", "36h"),
        (#"http: { listen: "off" }"#, "http.listen", "off"),
        (#"http: { listen: "localhost:0" }"#, "http.listen", "localhost:0"),
        (#"http: { tls: { certificate: "a.pem" } }"#, "http.tls.certificate", "/etc/a.pem"),
        (#"http: { tls: { certificate: "a", key: "b", password_file: "c" } }"#, "http.tls.password_file", "/etc/c"),
        (#"dedupe: { window: "1h" }"#, "dedupe.window", "1h"),
        (#"dedupe: { limit: 5000 }"#, "dedupe.limit", "5000"),
        (#"log: { level: "trace" }"#, "log.level", "trace"), (#"log: { format: "json" }"#, "log.format", "json"),
    ]

    @Test(arguments: values) func `A setting is parsed`(_ part: String, _ path: String, _ value: String) throws {
        #expect(try parseConfiguration("{ \(part), \(minimalApp) }").configuration[path] == value)
    }

    /// A part of an app, a setting of the app, and the value that the part gives to it.
    static let appValues: [(String, String, String)] = [
        ("gateway: { connections: { min: 3, max: 3 } }", "gateway.connections.min", "3"),
        // If only min is given and it is above the default of max, max becomes equal to it.
        ("gateway: { connections: { min: 9 } }", "gateway.connections.max", "9"),
        ("gateway: { connections: { max: 9 } }", "gateway.connections.min", "1"),
        ("gateway: { connects_per_minute: 60 }", "gateway.connects_per_minute", "60"),
        (#"gateway: { connect_timeout: "5s" }"#, "gateway.connect_timeout", "5s"),
        (#"gateway: { answer_timeout: "1m" }"#, "gateway.answer_timeout", "1m"),
        (#"gateway: { ping_after: "90s" }"#, "gateway.ping_after", "90s"),
        (#"gateway: { ping_timeout: "1500ms" }"#, "gateway.ping_timeout", "1500ms"),
        (#"gateway: { idle: "1d" }"#, "gateway.idle", "1d"),
        (#"endpoint: { host: "api.push.apple.com", port: 2197 }"#, "endpoint.port", "2197"),
        (#"endpoint: { host: "h.example", trust: "system" }"#, "endpoint.trust", "system"),
        (#"endpoint: { host: "h.example", trust: "t.pem" }"#, "endpoint.port", "443"),
        (
            #"broadcast: { send: "api-broadcast.push.apple.com:443" }"#, "broadcast.send",
            "api-broadcast.push.apple.com:443"
        ),
        (#"broadcast: { manage: "h:1" }"#, "broadcast.manage", "h:1"),
    ]

    @Test(arguments: appValues) func `A setting of an app is parsed`(_ part: String, _ path: String, _ value: String)
        throws
    {
        let app = minimalApp.replacing("environment:", with: "\(part), environment:")
        #expect(try parseConfiguration("{ \(app) }").configuration["apps.shop.\(path)"] == value)
    }

    @Test func `A binary gateway has a feedback service`() throws {
        let text = """
            { apps: { old: { topic: "t", environment: "sandbox", credential: { certificate: "p.p12", password_file: "pw" },
              gateway: { protocol: "binary", feedback: { interval: "1h" } },
              endpoint: { host: "10.0.0.1", trust: "ca.pem" } } } }
            """
        let app = try #require(try parseConfiguration(text).configuration.app("old"))
        #expect(app.apns?.credential == .pkcs12(path: "/etc/p.p12", passwordFile: "/etc/pw"))
        #expect(app.endpoint.port == 2195)
        #expect(app.apns?.feedback == .init(host: "10.0.0.1", port: 2196, interval: .seconds(3600)))
    }

    @Test func `Sockets that other machines can reach are allowed with CURVE and clients`() throws {
        let parsed = try parseConfiguration(
            """
            { \(minimalApp), intake: { router: "tcp://0.0.0.0:5560" }, security: {
                curve: { secret_key_file: "server.curve" },
                clients: { b: { public_key: "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7", observe: true },
                           a: { public_key: "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID", push: ["shop"] } } } }
            """)
        let security = parsed.configuration.security
        #expect(parsed.warnings.isEmpty)
        #expect(security.curve?.secretKeyFile == "/etc/server.curve")
        #expect(security.clients.map(\.name) == ["a", "b"])
        #expect(security.clients.map(\.observe) == [false, true])
        #expect(security.clients.map { $0.push.map(\.name) } == [["shop"], []])
    }

    @Test(arguments: [
        ("/etc/c.json5", "a", "/etc/a"), ("/etc/c.json5", "./a", "/etc/a"), ("/etc/c.json5", "/a", "/a"),
        ("/c.json5", "a", "/a"), ("c.json5", "./a", "a"), ("./c.json5", "a/b", "./a/b"),
        ("../d/c.json5", "../a", "../d/../a"),
        ("c.json5", "./", "."), ("d/c.json5", "./", "d/"),
    ])
    func `Paths in the file are relative to its directory`(_ file: String, _ path: String, _ expected: String) throws {
        #expect(try parseConfiguration("{ data: '\(path)', \(minimalApp) }", file: file).configuration.data == expected)
    }

    @Test(
        arguments: [
            ("250ms", 250), ("5s", 5000), ("10m", 600_000), ("2h", 7_200_000), ("7d", 604_800_000), ("0s", 0),
            ("36525d", 3_155_760_000_000),
        ] as [(String, Int64)])
    func `A duration is parsed, and parsed again after it is written`(_ text: String, _ milliseconds: Int64) throws {
        #expect(DurationText.read(text) == .milliseconds(milliseconds))
        #expect(DurationText.read(DurationText.write(.milliseconds(milliseconds))) == .milliseconds(milliseconds))
    }

    @Test(arguments: [
        "", "5", "s", "5 s", "-5s", "+5s", "5.5s", "5S", "5sec", "99999999999999999999d", "36526d", "5s5s", "٥s",
    ])
    func `Text that is not a duration is rejected`(_ text: String) { #expect(DurationText.read(text) == nil) }

    @Test(
        arguments: [
            ("0B", 0), ("512KiB", 524_288), ("64MiB", 67_108_864), ("1GiB", 1 << 30), ("2TiB", 2 << 40), ("5kB", 5000),
            ("5MB", 5_000_000), ("5GB", 5_000_000_000), ("1TB", 1_000_000_000_000),
        ] as [(String, Int64)])
    func `A size is parsed, and parsed again after it is written`(_ text: String, _ bytes: Int64) {
        #expect(ByteCount(text: text)?.bytes == bytes)
        #expect(ByteCount(text: ByteCount(bytes).description)?.bytes == bytes)
    }

    @Test(arguments: ["", "5", "MiB", "-1MiB", "1.5GiB", "1mib", "9999999999TiB"])
    func `Text that is not a size is rejected`(_ text: String) { #expect(ByteCount(text: text) == nil) }

    @Test(.waits) func `Mutated files are parsed or rejected without a crash`() throws {
        let seed = Array(try ConfigurationFile.read(Shipped.path))
        var random = SeededRandom(seed: 11)
        var refused = 0
        for _ in 0..<300 {
            do {
                _ = try Configuration.parse(random.mutate(seed, chance: 1), file: "f")
            } catch {
                refused += 1
                #expect(!error.faults.isEmpty && !"\(error)".isEmpty)
            }
        }
        #expect(refused > 50)
    }
}
