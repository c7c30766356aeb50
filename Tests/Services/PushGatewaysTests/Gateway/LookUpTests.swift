import APNs
import PushLoop
import PushModel
import PushTransport
import TestSupport
import Testing

@testable import PushGateways

@Suite struct LookUpTests {
    @Test(arguments: [("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("localhost", nil)] as [(String, String?)])
    func `An address is not looked up, and a name is`(_ host: String, _ expected: String?) async {
        let pool = BlockingPool(name: "names", threadCount: 1, queueLimit: 4)
        let settings = GatewaySettings(
            app: AppID("shop")!, endpoint: HostPort(host: host, port: 443), reasons: .apns,
            resolver: NameResolver(pool: pool)
        ) { _ in preconditionFailure("this test must not connect") }
        let found = EventRecorder<[String]>()
        settings.lookUp(settings.endpoint) { found.record((try? $0.get()) ?? []) }
        let addresses = await found.wait(count: 1)[0]
        if let expected { #expect(addresses == [expected]) }
        #expect(addresses.allSatisfy { $0 == "127.0.0.1" || $0 == "::1" } && !addresses.isEmpty)
        await pool.shutDown()
    }
}
