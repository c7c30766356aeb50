import PushGateways
import PushLoop
import PushModel
import PushTransport
import PushWire
import TestSupport
import Testing

@testable import WebPush

@Suite struct LoadedWebPushTests {
    @Test("The tokens and the times to live of an app are those of the clock that its connections are given")
    func clock() async throws {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/vapid.pem"
        #expect(try NewSecretFile.create(path, Array(ES256PrivateKey.generate().pem.utf8)))
        let tls: ([String]) throws -> TLSContext = { try TestCertificates.shared.clientContext(alpn: $0) }
        let loaded = try LoadedWebPush(
            WebPushSettings(vapid: path, subject: "mailto:ops@example.com"), tls: tls, endpointTLS: tls)
        let threads = BlockingPool(name: "unused", threadCount: 1, queueLimit: 0)
        let now = WallTime(seconds: 1_900_000_000)
        let pool = loaded.pool(
            ConnectionSettings(
                endpoint: HostPort(host: "origins", port: 443), tls: try tls(["h2"]),
                resolver: NameResolver(pool: threads), permit: nil, wallClock: { now }, connectTimeout: .seconds(300),
                answerTimeout: .seconds(300), pingAfter: .seconds(300), pingTimeout: .seconds(300)))
        #expect(pool.wallClock() == now)
        let address = try WebPushCodec().address(SubscriptionTests.subscription("https://push.example.com/1"))
        let message = Message(
            id: try #require(MessageID("one")), app: try #require(AppID("web")),
            expiry: Expiry(expiresAt: now.seconds + 100), payload: Array("{}".utf8))
        let delivery = Delivery(
            ticket: 1, message: message, token: address, deliveryID: DeliveryID(high: 0, low: 1))
        let call = try #require(pool.writer(Origin(host: "push.example.com")).call(for: delivery))
        let fields = Dictionary(uniqueKeysWithValues: call.fields.map { ($0.name.lowercased(), $0.value) })
        #expect(fields["ttl"] == "100")
        let token = try #require(fields["authorization"]).split(separator: ",")[0].split(separator: ".")
        let claims = try JSONDocument(try #require(Base64URL.decode(String(token[1]))))
        #expect(claims.value("exp", in: claims.root).flatMap { claims.integer($0) } == now.seconds + 12 * 3600)
        await threads.shutDown()
    }
}
