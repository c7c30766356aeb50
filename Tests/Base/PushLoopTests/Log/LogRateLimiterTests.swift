import TestSupport
import Testing

@testable import PushLoop

@Suite struct LogRateLimiterTests {
    private static let here = LogSite(file: "A.swift", line: 1)
    private static let there = LogSite(file: "A.swift", line: 2)

    private static func time(_ milliseconds: Int64) -> MonotonicTime {
        MonotonicTime(nanoseconds: milliseconds * 1_000_000)
    }

    private func arrive(
        _ limiter: inout LogRateLimiter, site: LogSite, at milliseconds: Int64
    ) -> LogRateLimiter.Verdict {
        limiter.lineArrived(at: site, level: .info, subsystem: "x", message: "m", now: Self.time(milliseconds))
    }

    @Test("Each site has its own window") func eachSiteHasItsOwnWindow() {
        var limiter = LogRateLimiter(LogRateLimit(lines: 2, interval: .seconds(1)))
        #expect(arrive(&limiter, site: Self.here, at: 0) == .write(suppressed: 0))
        #expect(arrive(&limiter, site: Self.here, at: 1) == .write(suppressed: 0))
        #expect(arrive(&limiter, site: Self.here, at: 2) == .suppress)
        #expect(arrive(&limiter, site: Self.there, at: 2) == .write(suppressed: 0))
        #expect(arrive(&limiter, site: Self.here, at: 999) == .suppress)
        #expect(arrive(&limiter, site: Self.here, at: 1000) == .write(suppressed: 2))
        #expect(arrive(&limiter, site: Self.here, at: 1001) == .write(suppressed: 0))
        #expect(arrive(&limiter, site: Self.here, at: 1002) == .suppress)
    }

    @Test("A silent site is reported once after its window") func silentSiteIsReportedOnceAfterItsWindow() {
        var limiter = LogRateLimiter(LogRateLimit(lines: 1, interval: .seconds(1)))
        #expect(arrive(&limiter, site: Self.there, at: 0) == .write(suppressed: 0))
        #expect(arrive(&limiter, site: Self.there, at: 1) == .suppress)
        #expect(arrive(&limiter, site: Self.here, at: 2) == .write(suppressed: 0))
        #expect(arrive(&limiter, site: Self.here, at: 3) == .suppress)
        let last = limiter.lineArrived(
            at: Self.here, level: .error, subsystem: "x", message: "last", now: Self.time(4))
        #expect(last == .suppress)
        #expect(limiter.takeLeftovers(now: Self.time(500)) == [])
        #expect(
            limiter.takeLeftovers(now: Self.time(1500)) == [
                LogRateLimiter.Leftover(site: Self.here, level: .error, subsystem: "x", suppressed: 2, message: "last"),
                LogRateLimiter.Leftover(site: Self.there, level: .info, subsystem: "x", suppressed: 1, message: "m"),
            ])
        #expect(limiter.takeLeftovers(now: Self.time(9000)) == [])
        #expect(arrive(&limiter, site: Self.here, at: 9001) == .write(suppressed: 0))
    }

    @Test("All counts are reported at the end") func everythingIsToldAtTheEnd() {
        var limiter = LogRateLimiter(LogRateLimit(lines: 1, interval: .seconds(1)))
        _ = arrive(&limiter, site: Self.here, at: 0)
        #expect(limiter.takeAll() == [])
        _ = arrive(&limiter, site: Self.here, at: 1)
        _ = arrive(&limiter, site: Self.here, at: 2)
        #expect(limiter.takeAll().map(\.suppressed) == [1])
    }

    /// The numbers of written and suppressed lines add up.
    @Test("Written and suppressed lines add up in a random walk") func countsAddUpOverARandomWalk() {
        var random = SeededRandom(seed: 3)
        var limiter = LogRateLimiter(LogRateLimit(lines: 3, interval: .milliseconds(50)))
        var (arrived, accounted): (Int, Int) = (0, 0)
        var now: Int64 = 0
        for _ in 0..<20_000 {
            now += Int64.random(in: 0...5, using: &random)
            let site = LogSite(file: "B.swift", line: UInt.random(in: 0...3, using: &random))
            arrived += 1
            if case .write(let suppressed) = arrive(&limiter, site: site, at: now) { accounted += 1 + suppressed }
            if Int.random(in: 0..<10, using: &random) == 0 {
                accounted += limiter.takeLeftovers(now: Self.time(now)).map(\.suppressed).reduce(0, +)
            }
        }
        accounted += limiter.takeAll().map(\.suppressed).reduce(0, +)
        #expect(accounted == arrived)
    }
}

@Suite struct LogTimeTests {
    @Test(
        "Times are formatted in UTC",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
            (1_772_357_400_250, "2026-03-01T09:30:00.250Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"), (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (1_735_689_599_000, "2024-12-31T23:59:59.000Z"), (-86_400_000, "1969-12-31T00:00:00.000Z"),
        ]) func timeIsInUTC(milliseconds: Int64, text: String)
    {
        #expect(WallTime(milliseconds: milliseconds).iso8601 == text)
    }

    @Test(
        "Durations have the unit that fits",
        arguments: [
            (Duration.nanoseconds(17), "17ns"), (.microseconds(1), "1us"), (.nanoseconds(1234), "1.2us"),
            (.milliseconds(250), "250ms"), (.milliseconds(1500), "1.5s"), (.seconds(7200), "7200s"), (.zero, "0ns"),
            (.milliseconds(-20), "-20ms"),
        ]) func durationHasTheUnitThatFits(duration: Duration, text: String)
    {
        #expect(duration.logValue.plainText == text)
    }
}
