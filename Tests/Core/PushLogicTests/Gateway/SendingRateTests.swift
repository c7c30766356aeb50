import PushLogic
import PushTime
import TestSupport
import Testing

@Suite struct SendingRateTests {
    private let start = MonotonicTime(nanoseconds: 1_000_000_000_000)

    /// Sends as much as the rate lets through, and returns how many that were.
    private func send(_ rate: inout SendingRate, at now: MonotonicTime, atMost limit: Int = .max) -> Int {
        let count = min(rate.room(now), limit)
        rate.sent(count)
        return count
    }

    @Test func `A minute has no more deliveries than the rate, besides a tenth of a second`() {
        for perMinute in [1, 7, 600, 601, 100_000, 600_000, 36_000_001] {
            var rate = SendingRate(perMinute: perMinute)
            var total = send(&rate, at: start)
            var now = start
            while now < start + .seconds(60) {
                now = now + .milliseconds(7)
                total += send(&rate, at: now)
            }
            let allowed = perMinute * Int((now - start) / .milliseconds(1)) / 60_000
            #expect(total <= allowed + perMinute / 600 + 2, "\(perMinute)")
            // An interval is rounded up to a nanosecond.
            #expect(total >= allowed - 1 - perMinute / 1000, "\(perMinute)")
        }
    }

    @Test func `Deliveries drip, and an idle hour saves up no more than a tenth of a second`() {
        var rate = SendingRate(perMinute: 600_000)
        #expect(send(&rate, at: start) == 1001)
        #expect(rate.room(start) == 0)
        // Not a few at a time, also while answers come.
        #expect(rate.room(start + .milliseconds(9)) == 0)
        #expect(rate.room(start + .milliseconds(10)) == 100)
        #expect(send(&rate, at: start + .milliseconds(10), atMost: 30) == 30)
        #expect(rate.room(start + .milliseconds(12)) == 0)
        #expect(rate.room(start + .milliseconds(13)) == 100)
        #expect(send(&rate, at: start + .seconds(3600)) == 1001)
        var slow = SendingRate(perMinute: 1)
        #expect(send(&slow, at: start) == 1)
        #expect(slow.room(start + .seconds(59)) == 0)
        #expect(slow.room(start + .seconds(60)) == 1)
        #expect(slow.room(start + .seconds(6000)) == 1)
    }

    @Test func `At the time of the next look there is room`() throws {
        for perMinute in [1, 60, 6000, 600_000, 600_000_000, 0, -5, .max] {
            var rate = SendingRate(perMinute: perMinute)
            _ = send(&rate, at: start)
            #expect(rate.room(start) == 0)
            let next = try #require(rate.nextRoom)
            #expect(next > start && next - start <= .seconds(60))
            #expect(rate.room(next) >= 1)
        }
    }

    @Test func `A changed rate counts from then on, and a huge number sent does not overflow`() {
        var rate = SendingRate(perMinute: 60)
        _ = send(&rate, at: start)
        rate.change(perMinute: 600)
        #expect(rate.room(start + .milliseconds(100)) == 2)
        rate.sent(.max)
        #expect(rate.room(start + .seconds(59)) == 0)
        #expect(rate.room(start + .seconds(61)) > 0)
    }
}
