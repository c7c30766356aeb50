import PushLogic
import PushModel
import PushTime
import TestSupport
import Testing

@Suite struct DeliveryQueueTests {
    private func delivery(_ ticket: UInt64, expiresAt: Int64? = nil) -> Delivery {
        Delivery(
            ticket: ticket,
            message: Message(
                id: MessageID("m")!, app: AppID("shop")!, expiry: Expiry(expiresAt: expiresAt), payload: []),
            token: Address(words: (ticket, 0, 0, 0)), deliveryID: DeliveryID(high: 0, low: ticket))
    }

    @Test func `The queue behaves like an array at both ends, however it has wrapped and grown`() {
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
                    queue.append(tickets.map { delivery($0) }[...])
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

    @Test func `Expired deliveries are removed and do not count`() {
        var queue = DeliveryQueue()
        queue.append(
            [delivery(1), delivery(2, expiresAt: 10), delivery(3, expiresAt: 0), delivery(4, expiresAt: 20)][...])
        var expired: [UInt64] = []
        queue.removeExpired(at: WallTime(milliseconds: 10_000)) { expired.append($0.ticket) }
        #expect(expired == [2])
        let taken = queue.take(upTo: 3, at: WallTime(milliseconds: 20_000)) { expired.append($0.ticket) }
        #expect(taken.map(\.ticket) == [1, 3])
        #expect(expired == [2, 4])
        #expect(queue.isEmpty)
    }
}
