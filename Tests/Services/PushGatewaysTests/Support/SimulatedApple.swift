import APNs
import Foundation
import PushGateways
import PushLoop
import PushModel
import PushSimulator
import PushTransport
import TestSupport
import Testing

/// The simulated Apple over HTTP/2, with a registered provider key.
struct SimulatedApple: Sendable {
    static let keyID = "ABC123DEFG"
    static let teamID = "DEF123GHIJ"
    static let topic = "com.example.shop"

    private let scene: SimulatorScene
    let provider: HostPort
    let key: ES256PrivateKey

    var clientLoop: EventLoop { scene.clientLoop }
    var resolver: NameResolver { scene.resolver }

    /// Returns the answer of the control port as JSON.
    func control(_ method: String, _ path: String, query: String = "", _ body: String = "") async -> String {
        await scene.with { service in
            let answer = service.machine.control(
                ControlRequest(method: method, path: path, query: query, body: Array(body.utf8)), now: .current())
            return String(decoding: answer.body, as: UTF8.self)
        }
    }

    /// Returns one of the numbers of `GET /counts`.
    func count(_ name: String) async throws -> Int {
        let text = await control("GET", "/counts")
        let object = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        return (object[name] as? Int) ?? 0
    }

    /// Returns a token. The first three generations are more than twenty minutes apart, as Apple requires. Later ones
    /// need a simulator without this check.
    func token(generation: UInt64 = 1) throws -> ProviderToken {
        let number = Int64(generation)
        let age = number <= 3 ? 1300 * (3 - number) : 600 - number
        let header = Base64URL.encode(Array(#"{"alg":"ES256","kid":"\#(Self.keyID)"}"#.utf8))
        let claims = Base64URL.encode(
            Array(
                #"{"iss":"\#(Self.teamID)","iat":\#(WallTime.current().seconds - age)}"#.utf8
            ))
        let signature = Base64URL.encode(try key.sign(Array("\(header).\(claims)".utf8)))
        return ProviderToken(
            text: Secret("\(header).\(claims).\(signature)"),
            generation: generation, mintedAt: .current())
    }

    func settings(_ change: (inout GatewayConnection.Settings) -> Void = { _ in }) throws -> GatewayConnection.Settings
    {
        var settings = GatewayConnection.Settings(
            tls: try TestCertificates.shared.clientContext(alpn: ["h2"]), resolver: resolver,
            wallClock: WallTime.current,
            writer: { [authority = provider.description] in
                APNsWriter(authority: authority, topic: Self.topic, token: $0)
            })
        change(&settings)
        return settings
    }
}

extension SimulatedApple {
    fileprivate init(_ scene: SimulatorScene, _ key: ES256PrivateKey) async {
        self.scene = scene
        self.key = key
        provider = HostPort(host: "127.0.0.1", port: await scene.with { $0.providerAddress!.port })
    }
}

/// Runs a test against its own simulated Apple, and stops the simulator afterwards.
func withSimulatedApple(
    script: String = "{}", host: String = "127.0.0.1", clientClock: LoopClock = .monotonic,
    settings change: (inout SimulatorSettings) -> Void = { _ in },
    _ body: (SimulatedApple) async throws -> Void
) async throws {
    let key = try ES256PrivateKey.generate()
    try await SimulatorScene.run(script: script, clientClock: clientClock) { options in
        options.host = host
        options.expiredIdentity = ExpiredServer.identity
        options.publicKeys = [SimulatedApple.keyID: key.publicKey]
        options.settings.records = 200_000
        options.settings.keys = [ProviderKey(keyID: SimulatedApple.keyID, teamID: SimulatedApple.teamID)]
        change(&options.settings)
    } _: { scene in
        try await body(SimulatedApple(scene, key))
    }
}

/// A server certificate that expired yesterday, created once.
private enum ExpiredServer {
    static let identity: TLSIdentity? = {
        let now = WallTime.current().milliseconds
        let request = CertificateRequest(
            commonName: "localhost", usage: .server, dnsNames: ["localhost"], ipAddresses: ["127.0.0.1"],
            validity: CertificateValidity(
                notBefore: WallTime(milliseconds: now - 172_800_000),
                notAfter: WallTime(milliseconds: now - 86_400_000)))
        return try? TestCertificates.shared.authority.issue(request).identity
    }()
}
