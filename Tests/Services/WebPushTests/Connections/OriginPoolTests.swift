import PushGateways
import PushLoop
import PushModel
import PushTime
import PushTransport
import TestSupport
import TestTraits
import Testing

@testable import WebPush

@Suite(.waits) struct OriginPoolTests {
    @Test("Origins that stall, refuse connections, have a wrong certificate or fail do not delay the others")
    func others() async throws {
        let (far, near) = (EventLoop(name: "origins"), EventLoop(name: "pool"))
        let names: [(name: String, certificate: String, status: Int?)] = [
            ("good.test", "good.test", 201), ("silent.test", "silent.test", nil), ("wrong.test", "other.test", 201),
            ("failing.test", "failing.test", 503),
        ]
        let servers = try await far.run {
            try names.map {
                LoopBound(try OriginServer(on: far, name: $0.certificate, status: $0.status), on: far)
            }
        }
        var origins: [String] = []
        for (name, server) in zip(names, servers) { origins.append("\(name.name):\(await server.with { $0.port })") }
        let taken = try #require(TakenPort())
        origins.append("closed.test:\(taken.number)")

        let threads = BlockingPool(name: "unused", threadCount: 1, queueLimit: 0)
        let tls = try OriginTLS { try TestCertificates.shared.clientContext(alpn: $0) }
        let tokens = VAPIDTokens(
            key: VAPIDKey(try ES256PrivateKey.generate()), subject: "mailto:ops@example.com",
            wallClock: WallTime.current)
        var rules = OriginRules()
        rules.patterns = origins
        rules.privateNetworks = [try AddressRange("127.0.0.0/8")]
        var settings = OriginPool.Settings(
            tls: tls, resolver: NameResolver(pool: threads), rules: rules,
            connection: ConnectionSettings(
                endpoint: HostPort(host: "origins", port: 443), tls: tls.http2, resolver: NameResolver(pool: threads),
                permit: nil, wallClock: WallTime.current, connectTimeout: .seconds(300), answerTimeout: .seconds(300),
                pingAfter: .seconds(300), pingTimeout: .seconds(300)),
            writer: { WebPushWriter(origin: $0, tokens: tokens, wallClock: WallTime.current) })
        settings.lookUp = { _, completion in completion(.success(["127.0.0.1"])) }
        let reports = EventRecorder<ConnectionReport>()
        let pool = OriginPool(
            ConnectionRequest(
                id: ConnectionID(1), loop: near, address: HostPort(host: "origins", port: 443), serverName: "origins",
                token: nil, outlet: ConnectionOutlet(on: near) { reports.record($0) }), settings: settings)
        for (index, origin) in origins.enumerated().dropFirst() {
            pool.deliver(OriginDeliveries.make(index * 1000..<index * 1000 + 10, to: origin))
        }
        pool.deliver(OriginDeliveries.make(0..<500, to: origins[0]))
        let accepted = { @Sendable (reports: [ConnectionReport]) in
            reports.flatMap(\.ended).filter { $0.result == .accepted(providerID: nil) }.map { Int($0.delivery.ticket) }
        }
        await reports.wait { accepted($0).count >= 500 }
        await wait(while: await servers[1].with { $0.received } < 10)
        #expect(Set(accepted(reports.events)) == Set(0..<500))
        let status = await pool.status()
        #expect(status.state == .open && status.inFlight >= 10)

        pool.recall(1)
        await reports.wait { $0.contains { $0.event == .recalled(1) } }
        pool.close()
        let all = await reports.wait { $0.contains { if case .closed? = $0.event { true } else { false } } }
        let tickets = all.flatMap(\.ended).map { Int($0.delivery.ticket) }
        #expect(tickets.count == 540 && Set(tickets).count == 540)
        #expect(accepted(all).count == 500)
        for server in servers { await server.with { $0.stop() } }
        await near.shutDown()
        await far.shutDown()
        await threads.shutDown()
    }
}
