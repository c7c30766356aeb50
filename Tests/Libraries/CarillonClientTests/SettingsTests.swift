import PushTransport
import TestSupport
import Testing

@testable import CarillonClient

@Suite struct SettingsTests {
    @Test func `A secret key is never shown`() throws {
        let (own, server) = (try CurveKeyPair.generate(), try CurveKeyPair.generate())
        let keys = try ClientKeys(secret: own.secretKey.z85, server: server.publicKey.z85)
        var dumped = ""
        dump(ClientSettings(keys: keys), to: &dumped)
        for text in ["\(keys)", String(reflecting: keys), "\(ClientSettings(keys: keys))", dumped] {
            #expect(!text.contains(own.secretKey.z85))
        }
        #expect(keys.publicKey == own.publicKey.z85)
    }

    @Test func `An invalid key is an error that does not repeat it`() throws {
        let server = try CurveKeyPair.generate().publicKey.z85
        for secret in ["", "short", String(repeating: "\u{e9}", count: 20)] {
            #expect {
                try ClientKeys(secret: secret, server: server)
            } throws: { error in
                secret.isEmpty || !"\(error)".contains(secret)
            }
        }
    }

    @Test func `Settings come from the environment`() throws {
        let settings = try ClientSettings(environment: [
            "CARILLON_ENDPOINTS": "tcp://a:1,tcp://b:2", "CARILLON_EVENTS": "tcp://a:3",
            "CARILLON_SPOOL": "/var/spool/x",
        ])
        #expect(settings.endpoints == ["tcp://a:1", "tcp://b:2"] && settings.events == ["tcp://a:3"])
        #expect(settings.spool?.directory == "/var/spool/x" && settings.keys == nil)
        #expect(throws: ClientError.self) { try ClientSettings(environment: ["CARILLON_SERVER_KEY": "x"]) }
    }

    @Test func `Settings that cannot work are refused`() {
        let changes: [(inout ClientSettings) -> Void] = [
            { $0.endpoints = [] }, { $0.events = [] }, { $0.replay = [""] }, { $0.producer.window = 0 },
            { $0.producer.maxBatch = 10_001 },
            { $0.producer.ackTimeout = .zero }, { $0.maxBufferedEventBytes = 0 },
            { $0.spool = SpoolSettings(directory: "") }, { $0.spool = SpoolSettings(directory: "/proc/none/spool") },
        ]
        for change in changes {
            var settings = ClientSettings()
            change(&settings)
            #expect(throws: ClientError.self) { try CarillonClient(settings) }
        }
    }

    @Test func `An endpoint that is not one is reported when a push ends`() async throws {
        let client = try CarillonClient(ClientSettings(endpoints: ["nonsense"]))
        await #expect {
            try await client.push(
                Push(id: "a", app: "shop", to: .all, alert: "x"), deadline: .milliseconds(200))
        } throws: { error in
            guard case .unavailable(let detail)? = error as? PushError else { return false }
            return detail.contains("nonsense")
        }
        await client.shutdown()
    }
}
