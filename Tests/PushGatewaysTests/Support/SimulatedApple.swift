import Foundation
import PushGateways
import PushLoop
import PushModel
import PushSimulator
import PushTransport
import TestSupport
import Testing

/// The simulated Apple on real sockets and a loop of its own, a key that it knows, and a loop for its clients.
struct SimulatedApple: Sendable {
    static let keyID = "ABC123DEFG"
    static let teamID = "DEF123GHIJ"
    static let topic = "com.example.shop"

    let loop: EventLoop
    let clientLoop: EventLoop
    let pool: BlockingPool
    let provider: HostPort
    let key: ES256PrivateKey
    fileprivate let holder: LoopBound<Holder>

    fileprivate final class Holder {
        var service: SimulatorService?

        init(_ service: SimulatorService) {
            self.service = service
        }
    }

    var resolver: NameResolver { NameResolver(pool: pool) }

    func with<Result: Sendable>(_ work: @escaping @Sendable (SimulatorService) -> Result) async -> Result {
        await holder.with { work($0.service!) }
    }

    /// What the control port answers, as JSON.
    func control(_ method: String, _ path: String, query: String = "", _ body: String = "") async -> String {
        await with { service in
            let answer = service.machine.control(
                ControlRequest(method: method, path: path, query: query, body: Array(body.utf8)), now: .current())
            return String(decoding: answer.body, as: UTF8.self)
        }
    }

    /// One number of `GET /counts`.
    func count(_ name: String) async throws -> Int {
        let text = await control("GET", "/counts")
        let object = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        return (object[name] as? Int) ?? 0
    }

    /// The first three are old enough to follow each other: Apple wants twenty minutes between two. Those after them
    /// are for simulators that do not mind.
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
            text: Secret("\(header).\(claims).\(signature)"), keyID: Self.keyID, teamID: Self.teamID,
            generation: generation, mintedAt: .current())
    }

    func settings(_ change: (inout GatewayConnection.Settings) -> Void = { _ in }) throws -> GatewayConnection.Settings
    {
        var settings = GatewayConnection.Settings(
            topic: Self.topic, authority: provider.description,
            tls: try TestCertificates.shared.clientContext(alpn: ["h2"]), resolver: resolver)
        change(&settings)
        return settings
    }
}

/// Runs a test against a simulated Apple of its own and takes it down afterwards.
func withSimulatedApple(
    script: String = "{}", host: String = "127.0.0.1", clientClock: LoopClock = .monotonic,
    settings change: (inout SimulatorSettings) -> Void = { _ in },
    _ body: (SimulatedApple) async throws -> Void
) async throws {
    let key = try ES256PrivateKey.generate()
    var settings = SimulatorSettings()
    settings.records = 200_000
    settings.keys = [ProviderKey(keyID: SimulatedApple.keyID, teamID: SimulatedApple.teamID)]
    change(&settings)
    let certificates = TestCertificates.shared
    var options = SimulatorService.Options(identity: certificates.serverIdentity, clientTrust: certificates.trust)
    options.settings = settings
    options.host = host
    options.expiredIdentity = ExpiredServer.identity
    options.publicKeys = [SimulatedApple.keyID: key.publicKey]
    let loop = EventLoop(name: "apple")
    let clientLoop = EventLoop(name: "gateway", clock: clientClock)
    let pool = BlockingPool(name: "resolve", threadCount: 1, queueLimit: 64)
    let (holder, port) = try await loop.run { [options] in
        let service = try SimulatorService(on: loop, options, script: try FaultScript(Array(script.utf8)))
        return (LoopBound(SimulatedApple.Holder(service), on: loop), service.providerAddress!.port)
    }
    let apple = SimulatedApple(
        loop: loop, clientLoop: clientLoop, pool: pool, provider: HostPort(host: "127.0.0.1", port: port), key: key,
        holder: holder)
    let outcome: Result<Void, any Error>
    do {
        outcome = .success(try await body(apple))
    } catch {
        outcome = .failure(error)
    }
    let done = EventRecorder<Bool>()
    await holder.with { holder in
        holder.service?.stop { done.record(true) }
        holder.service = nil
    }
    await done.wait(count: 1)
    await clientLoop.shutDown()
    await loop.shutDown()
    await pool.shutDown()
    try outcome.get()
}

/// A server certificate of yesterday, made once.
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
