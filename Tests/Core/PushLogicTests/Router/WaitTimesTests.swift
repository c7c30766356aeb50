import PushLogic
import PushModel
import PushTime
import TestSupport
import Testing

@Suite struct WaitTimesTests {
    private typealias F = RouterFixtures

    @Test(arguments: 0..<20 as Range<UInt64>) func `The oldest time is that of a model, or early by less than a step`(
        _ seed: UInt64
    ) {
        var random = SeededRandom(seed: seed)
        var times = WaitTimes()
        var model: [Int64] = []
        var now: Int64 = 1_767_225_600_000
        for _ in 0..<4000 {
            now += Int64.random(in: -2...40, using: &random)
            if model.isEmpty || Int.random(in: 0..<100, using: &random) < 55 {
                // Sometimes the clock was set.
                let time = Int.random(in: 0..<50, using: &random) == 0 ? now - 5_000_000 : now
                times.add(WallTime(milliseconds: time))
                model.append(time)
            } else {
                // Most things end in their order.
                let end = Int.random(in: 0..<4, using: &random) == 0 ? model.count : min(8, model.count)
                let time = model.remove(at: Int.random(in: 0..<end, using: &random))
                times.remove(WallTime(milliseconds: time))
            }
            #expect(times.count == model.count)
            #expect(times.stepCount <= WaitTimes.maxSteps)
            guard let oldest = model.min(), let shown = times.oldest?.milliseconds else {
                #expect(times.oldest == nil && model.isEmpty)
                continue
            }
            let range = (model.max() ?? oldest) - oldest
            #expect(shown <= oldest && oldest - shown <= max(0, range / 200), "\(shown) instead of \(oldest)")
        }
    }

    @Test(arguments: [10_000, 100_000]) func `The memory does not grow with what waits`(_ count: Int) {
        var times = WaitTimes()
        for number in 0..<count { times.add(WallTime(milliseconds: Int64(number) * 7)) }
        #expect(times.stepCount <= WaitTimes.maxSteps && times.count == count)
        #expect(times.oldest == 0)
        for number in 0..<(count - 1) { times.remove(WallTime(milliseconds: Int64(number) * 7)) }
        let last = Int64(count - 1) * 7
        let shown = times.oldest?.milliseconds ?? 0
        #expect(times.count == 1 && shown <= last && last - shown <= last / 500)
        times.remove(WallTime(milliseconds: last))
        #expect(times.oldest == nil && times.count == 0)
    }

    @Test func `Times beyond any clock and removals of unknown times do no harm`() {
        var times = WaitTimes()
        times.remove(5)
        times.removeOldest(3)
        #expect(times.oldest == nil)
        times.add(.distantFuture)
        times.add(.distantPast)
        times.add(7, count: 0)
        times.remove(9)
        #expect(times.count == 2 && times.oldest == .distantPast)
        for number in 0..<3000 as Range<Int64> { times.add(WallTime(milliseconds: number &* 3_000_000_000_000_000)) }
        #expect(times.stepCount <= WaitTimes.maxSteps)
        times.removeOldest(.max)
        #expect(times.count == 0 && times.oldest == nil)
        let wait = AppWaits.Wait(count: 1, oldest: .distantFuture)
        #expect(wait.age(at: 0) == .zero)
        #expect(AppWaits.Wait(count: 1, oldest: .distantPast).age(at: .distantFuture) > .seconds(1))
    }

    @Test func `A message waits from its time to its end, and a delivery from the gateway to its result`() throws {
        let desk = RouterDesk()
        let start = desk.wall
        desk.accept(F.accepted(1, to: F.tokens(0..<1), at: F.second))
        desk.pass(.seconds(20))
        desk.accept(F.accepted(2, to: F.tokens(1..<2), at: F.second + 20))
        var wait = try #require(desk.machine.waits().first)
        #expect(wait.few == .init(count: 2, oldest: start) && wait.many == .init(count: 0, oldest: nil))
        #expect(wait.unanswered == .init(count: 2, oldest: start))
        #expect(wait.messages.age(at: desk.wall) == .seconds(20))
        desk.report([(desk.out[0], .sent(providerID: nil))])
        wait = try #require(desk.machine.waits().first)
        #expect(wait.few == .init(count: 1, oldest: start + .seconds(20)))
        #expect(wait.unanswered == .init(count: 1, oldest: start + .seconds(20)))
        // A retry that waits is not at the gateway, and its message is not done.
        let busy = Refusal(status: 503, reason: "ServiceUnavailable")
        desk.report([(desk.out[1], .retry(busy, after: .seconds(5)))])
        wait = try #require(desk.machine.waits().first)
        #expect(wait.few.count == 1 && wait.unanswered == .init(count: 0, oldest: nil))
        desk.pass(.seconds(6))
        desk.report([(desk.out[2], .sent(providerID: nil))])
        #expect(desk.machine.waits().first?.messages == .init(count: 0, oldest: nil))
    }

    @Test func `A scheduled message waits from its not_before on`() throws {
        let desk = RouterDesk(credit: 0)
        let message = F.accepted(1, to: F.tokens(0..<1), notBefore: F.second + 100, at: F.second)
        desk.accept(message)
        #expect(desk.machine.waits().first?.messages.count == 0)
        desk.pass(.seconds(130))
        desk.machine.due(.success(DueMessages(messages: [message], next: nil)))
        desk.run()
        let wait = try #require(desk.machine.waits().first)
        #expect(wait.few.count == 1 && wait.few.age(at: desk.wall) == .seconds(30))
    }
}
