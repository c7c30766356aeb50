import PushLoop
import PushModel
import PushTransport
import TestSupport
import Testing

@testable import PushGateways

@Suite struct DeliveryQueueTests {
    private func delivery(_ ticket: UInt64, expiresAt: Int64? = nil) -> Delivery {
        Delivery(
            ticket: ticket,
            message: Message(id: MessageID("m")!, app: AppID("shop")!, expiresAt: expiresAt, payload: []),
            token: DeviceToken(words: (ticket, 0, 0, 0)), apnsID: APNSID(high: 0, low: ticket))
    }

    @Test func `It does what an array does, at both ends, however it has turned and grown`() {
        var random = SeededRandom(seed: 7)
        for _ in 0..<200 {
            var queue = DeliveryQueue()
            var model: [UInt64] = []
            var next: UInt64 = 0
            for _ in 0..<200 {
                let count = Int.random(in: 0...40, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0:
                    let tickets = (0..<UInt64(count)).map { next + $0 }
                    queue.append(tickets.map { delivery($0) })
                    model += tickets
                case 1:
                    let tickets = (0..<UInt64(count)).map { next + $0 }
                    queue.prepend(tickets.map { delivery($0) })
                    model = tickets + model
                default:
                    let taken = queue.take(upTo: count, at: WallTime(milliseconds: 0)) { _ in Issue.record("expired") }
                    #expect(taken.map(\.ticket) == Array(model.prefix(count)))
                    model.removeFirst(min(count, model.count))
                }
                next += UInt64(count)
                #expect(queue.count == model.count && queue.isEmpty == model.isEmpty)
            }
        }
    }

    @Test func `What has expired is taken out and does not count`() {
        var queue = DeliveryQueue()
        queue.append([delivery(1), delivery(2, expiresAt: 10), delivery(3, expiresAt: 0), delivery(4, expiresAt: 20)])
        var expired: [UInt64] = []
        queue.removeExpired(at: WallTime(milliseconds: 10_000)) { expired.append($0.ticket) }
        #expect(expired == [2])
        let taken = queue.take(upTo: 3, at: WallTime(milliseconds: 20_000)) { expired.append($0.ticket) }
        #expect(taken.map(\.ticket) == [1, 3])
        #expect(expired == [2, 4])
        #expect(queue.isEmpty)
    }

    @Test(arguments: [("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("localhost", nil)] as [(String, String?)])
    func `An address is its own look-up, and a name is asked for`(_ host: String, _ expected: String?) async {
        let pool = BlockingPool(name: "names", threadCount: 1, queueLimit: 4)
        let settings = GatewaySettings(
            app: AppID("shop")!, place: HostPort(host: host, port: 443), resolver: NameResolver(pool: pool)
        ) { _ in preconditionFailure("nothing connects here") }
        let found = EventRecorder<[String]>()
        settings.lookUp(settings.place) { found.record((try? $0.get()) ?? []) }
        let addresses = await found.wait(count: 1)[0]
        if let expected { #expect(addresses == [expected]) }
        #expect(addresses.allSatisfy { $0 == "127.0.0.1" || $0 == "::1" } && !addresses.isEmpty)
        await pool.shutDown()
    }
}
