import PushLogic
import PushTime
import TestSupport
import TestTraits
import Testing

@Suite(.waits) struct ExpiryWatchTests {
    private let end = WallTime(milliseconds: 1_767_225_600_000)

    /// Returns the time that is `days` days before the end.
    private func day(_ days: Double) -> WallTime {
        WallTime(milliseconds: end.milliseconds - Int64((days * 86_400_000).rounded()))
    }

    private func windows(_ notices: [ExpiryWatch.Notice]) -> [Int] { notices.map(\.announcement.window.days) }

    @Test func `Each window is announced once, when it begins`() {
        var watch = ExpiryWatch()
        watch.watch("shop", notAfter: end)
        var announced: [(Double, Int)] = []
        for hours in stride(from: 40.0 * 24, through: -48, by: -1) {
            for notice in watch.look(at: day(hours / 24)) {
                announced.append((hours / 24, notice.announcement.window.days))
                #expect(notice.secondsLeft == Int64(hours * 3600))
            }
        }
        #expect(announced.map(\.0) == [30, 7, 1])
        #expect(announced.map(\.1) == [30, 7, 1])
        #expect(watch.nextLook(after: day(-2)) == nil)
    }

    @Test(arguments: [(31.0, []), (29.0, [30]), (6.5, [7]), (0.5, [1]), (-3.0, [1])])
    func `A first start announces the current window and none before it`(days: Double, expected: [Int]) {
        var watch = ExpiryWatch()
        watch.watch("shop", notAfter: end)
        #expect(windows(watch.look(at: day(days))) == expected)
        #expect(windows(watch.look(at: day(days))) == [])
        // A clock that goes back does not repeat notices.
        #expect(windows(watch.look(at: day(days + 3))) == [])
    }

    @Test func `A restart with earlier notices is silent in the same window and continues in the next`() throws {
        var first = ExpiryWatch()
        first.watch("shop", notAfter: end)
        let announced = first.look(at: day(30)).map(\.announcement) + first.look(at: day(5)).map(\.announcement)
        #expect(announced.count == 2)
        for order in [announced, announced.reversed()] {
            var second = ExpiryWatch(announced: order)
            second.watch("shop", notAfter: end)
            #expect(second.look(at: day(4)).isEmpty)
            #expect(windows(second.look(at: day(1))) == [1])
        }
    }

    @Test func `A renewed credential starts anew, and an old record does not silence it`() {
        var watch = ExpiryWatch(announced: [.init(name: "shop", notAfter: day(365), window: .day)])
        watch.watch("shop", notAfter: end)
        #expect(windows(watch.look(at: day(20))) == [30])
        let renewed = WallTime(milliseconds: end.milliseconds + 365 * 86_400_000)
        watch.watch("shop", notAfter: renewed)
        #expect(watch.look(at: day(6)).isEmpty)
        #expect(windows(watch.look(at: WallTime(milliseconds: renewed.milliseconds - 86_400_000))) == [1])
    }

    @Test func `The next look is at the next window, or in an hour`() {
        var watch = ExpiryWatch()
        #expect(watch.nextLook(after: day(10)) == nil)
        watch.watch("shop", notAfter: end)
        #expect(watch.nextLook(after: day(40)) == day(40 - 1.0 / 24))
        #expect(watch.nextLook(after: day(30.01)) == day(30))
        // The notice is due already.
        #expect(watch.nextLook(after: day(20)) == day(20))
        _ = watch.look(at: day(20))
        #expect(watch.nextLook(after: day(7.01)) == day(7))
        watch.forget("shop")
        #expect(watch.nextLook(after: day(7)) == nil)
    }

    @Test func `Notices are ordered by the end of their credentials`() {
        var watch = ExpiryWatch()
        watch.watch("b", notAfter: end)
        watch.watch("a", notAfter: end)
        watch.watch("c", notAfter: day(3))
        #expect(watch.look(at: day(6)).map(\.announcement.name) == ["c", "a", "b"])
    }

    @Test(arguments: 0..<10) func `Looks on request miss no window, even if the clock goes back`(seed: UInt64) {
        var random = SeededRandom(seed: 40 + seed)
        var watch = ExpiryWatch()
        var ends: [String: WallTime] = [:]
        for index in 0..<8 {
            let end = day(Double.random(in: -60...0, using: &random))
            ends["\(index)"] = end
            watch.watch("\(index)", notAfter: end)
        }
        var announced: [ExpiryWatch.Announcement: Int] = [:]
        var now = day(45)
        while let next = watch.nextLook(after: now) {
            now = next
            for notice in watch.look(at: now) {
                announced[notice.announcement, default: 0] += 1
                let begin =
                    notice.announcement.notAfter.milliseconds - Int64(notice.announcement.window.days) * 86_400_000
                #expect(now.milliseconds == begin)
            }
            // Sometimes the clock goes back by some hours.
            if Int.random(in: 0..<50, using: &random) == 0 {
                now = WallTime(milliseconds: now.milliseconds - 9_000_000)
            }
        }
        #expect(announced.count == 24)
        #expect(announced.values.allSatisfy { $0 == 1 })
    }
}
