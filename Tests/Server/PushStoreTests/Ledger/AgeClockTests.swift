import PushModel
import PushTime
import TestSupport
import TestTraits
import Testing

@testable import PushStore

@Suite(.waits) struct AgeClockTests {
    private static let day: Int64 = 86_400_000
    private static let year = 365 * day

    private func ms(_ milliseconds: Int64) -> WallTime { WallTime(milliseconds: milliseconds) }

    private func steady(_ milliseconds: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: milliseconds * 1_000_000) }

    @Test func `The age clock follows the wall clock`() {
        var clock = AgeClock(last: nil, wall: ms(1000), steady: steady(5))
        #expect(clock.time == ms(1000))
        clock.advance(wall: ms(2500), steady: steady(1505))
        #expect(clock.time == ms(2500))
        // The wall clock is ahead by less than an hour, as after a machine has slept.
        clock.advance(wall: ms(3_000_000), steady: steady(1506))
        #expect(clock.time == ms(3_000_000))
        clock.advance(wall: ms(5), steady: steady(1507))
        #expect(clock.time == ms(5))
    }

    @Test func `A wall clock that jumps ahead and comes back is not followed`() {
        var clock = AgeClock(last: nil, wall: ms(1000), steady: steady(0))
        clock.advance(wall: ms(Self.year), steady: steady(10))
        #expect(clock.time == ms(1010))
        clock.advance(wall: ms(Self.year + 3_600_000), steady: steady(3_600_010))
        #expect(clock.time == ms(3_601_010))
        clock.advance(wall: ms(3_601_020), steady: steady(3_600_020))
        #expect(clock.time == ms(3_601_020))
        // From now on it must be ahead for a whole day again.
        clock.advance(wall: ms(Self.year + Self.day), steady: steady(Self.day))
        #expect(clock.time == ms(Self.day + 1000))
    }

    @Test func `A wall clock that stays ahead for a day is followed`() {
        var clock = AgeClock(last: nil, wall: ms(1000), steady: steady(0))
        clock.advance(wall: ms(Self.year), steady: steady(0))
        clock.advance(wall: ms(Self.year + Self.day - 1), steady: steady(Self.day - 1))
        #expect(clock.time == ms(Self.day + 999))
        clock.advance(wall: ms(Self.year + Self.day), steady: steady(Self.day))
        #expect(clock.time == ms(Self.year + Self.day))
    }

    @Test func `A wall clock that is ahead and jumps further must stay there for a day`() {
        let hour: Int64 = 3_600_000
        var clock = AgeClock(last: nil, wall: ms(1000), steady: steady(0))
        // It was set back by six hours, and is right again.
        clock.advance(wall: ms(1000 - 6 * hour), steady: steady(0))
        clock.advance(wall: ms(1000), steady: steady(0))
        clock.advance(wall: ms(Self.year + 23 * hour), steady: steady(23 * hour))
        clock.advance(wall: ms(Self.year + 46 * hour), steady: steady(46 * hour))
        #expect(clock.time == ms(1000 + 40 * hour))
        clock.advance(wall: ms(1000 + 47 * hour), steady: steady(47 * hour))
        clock.advance(wall: ms(1000 + 70 * hour), steady: steady(70 * hour))
        #expect(clock.time == ms(1000 + 64 * hour))
        clock.advance(wall: ms(1000 + 71 * hour), steady: steady(71 * hour))
        #expect(clock.time == ms(1000 + 71 * hour))
    }

    @Test func `After a long pause the day counts from the start of the process`() {
        var clock = AgeClock(last: AgeClock.Stored(time: ms(1000)), wall: ms(Self.year), steady: steady(7))
        #expect(clock.time == ms(1000))
        clock.advance(wall: ms(Self.year + Self.day), steady: steady(Self.day + 7))
        #expect(clock.time == ms(Self.year + Self.day))
    }

    @Test func `Processes that run for less than a day add up to the day`() {
        var clock = AgeClock(last: AgeClock.Stored(time: ms(1000)), wall: ms(Self.year), steady: steady(7))
        #expect(clock.stored == AgeClock.Stored(time: ms(1000), aheadSince: ms(Self.year)))
        clock = AgeClock(last: clock.stored, wall: ms(Self.year + Self.day / 2), steady: steady(3))
        #expect(clock.time == ms(1000))
        clock.advance(wall: ms(Self.year + Self.day - 1), steady: steady(Self.day / 2 + 2))
        #expect(clock.time == ms(Self.day / 2 + 999))
        clock = AgeClock(last: clock.stored, wall: ms(Self.year + Self.day), steady: steady(9))
        #expect(clock.stored == AgeClock.Stored(time: ms(Self.year + Self.day)))
    }

    @Test func `After the wall clock was set back, the day counts from its next jump`() {
        let stored = AgeClock.Stored(time: ms(1000), aheadSince: ms(Self.year))
        var clock = AgeClock(last: stored, wall: ms(5000), steady: steady(0))
        #expect(clock.stored == AgeClock.Stored(time: ms(5000)))
        // The second jump is smaller, so that the stored time lies ahead of it.
        clock = AgeClock(last: stored, wall: ms(Self.year / 2), steady: steady(0))
        #expect(clock.time == ms(1000))
        clock.advance(wall: ms(Self.year / 2 + Self.day - 1), steady: steady(Self.day - 1))
        #expect(clock.time == ms(Self.day + 999))
        clock.advance(wall: ms(Self.year / 2 + Self.day), steady: steady(Self.day))
        #expect(clock.time == ms(Self.year / 2 + Self.day))
    }

    @Test(
        arguments: [.distantPast, -1, 0, .distantFuture] as [WallTime], [.distantPast, 0, .distantFuture] as [WallTime])
    func `Extreme times do not overflow`(last: WallTime, wall: WallTime) {
        for since in [nil, .distantPast, 0, .distantFuture] as [WallTime?] {
            let stored = AgeClock.Stored(time: last, aheadSince: since)
            var clock = AgeClock(last: stored, wall: wall, steady: MonotonicTime(nanoseconds: .min))
            clock.advance(wall: wall, steady: .distantFuture)
            clock.advance(wall: .distantFuture, steady: steady(0))
            clock.advance(wall: .distantPast, steady: .distantFuture)
            #expect(clock.time == .distantPast)
        }
    }

    @Test(arguments: [false, true]) func `Nothing is forgotten when the clock jumps a year ahead and back`(
        reopens: Bool
    ) async throws {
        try await withLedger { scene in
            let day = Duration.seconds(86_400)
            _ = await scene.accept([push("single"), push("wide", to: [1, 2])])
            _ = await scene.claim(2, "wide", [token(1), token(2)])
            for message in scene.listener.messages { scene.carryOut(message) }
            await scene.trim()
            scene.setClock(by: day * 365)
            _ = await scene.accept(push("ahead"))
            if reopens { try await scene.reopen() }
            let ahead = await scene.trim()
            #expect(ahead.messageKeys == 3)
            #expect(ahead.deliveryKeys == 2)
            #expect(ahead.oldest == 1)
            scene.advance(.seconds(3600))
            #expect(await scene.trim().messageKeys == 3)
            scene.setClock(by: day * -365)
            if reopens { try await scene.reopen() }
            #expect(await scene.trim().messageKeys == 3)
            #expect(await scene.accept([push("single"), push("wide", to: [1, 2])]).compactMap(\.seq).isEmpty)
            // The keys then expire in the usual time.
            for message in try await scene.load(Array(1...10)) { scene.carryOut(message) }
            scene.advance(day * 8)
            let later = await scene.trim()
            #expect(later.deliveryKeys == 0)
        }
    }

    /// The machine is switched off each night.
    @Test func `After an outage old keys are forgotten within days, even in short runs`() async throws {
        try await withLedger { scene in
            _ = await scene.accept(push("old"))
            scene.carryOut(scene.listener.messages[0])
            await scene.trim()
            await scene.ledger.close()
            scene.advance(.seconds(20 * 86_400))
            try await scene.reopenOnly()
            for _ in 0..<3 {
                #expect(await scene.trim().messageKeys == 1)
                scene.advance(.seconds(36_000))
                try await scene.reopen()
            }
            #expect(await scene.trim().messageKeys == 0)
        }
    }

    /// Nothing is handed in for weeks, and then the process is restarted.
    @Test(arguments: [false, true]) func `A message that is sent after a long pause is remembered for the window`(
        isOff: Bool
    )
        async throws
    {
        try await withLedger { scene in
            let day = Duration.seconds(86_400)
            _ = await scene.accept(push("old"))
            scene.carryOut(scene.listener.messages[0])
            await scene.trim()
            if isOff { await scene.ledger.close() }
            scene.advance(day * 20)
            if isOff { try await scene.reopenOnly() }
            _ = await scene.accept(push("new"))
            for message in try await scene.load(Array(1...10)) { scene.carryOut(message) }
            await scene.settled()
            #expect(await scene.trim().messageKeys == (isOff ? 2 : 1))
            scene.advance(day * 2)
            #expect(await scene.trim().messageKeys == 1)
            #expect(await scene.accept(push("new")).seq == nil)
            scene.advance(day * 6)
            #expect(await scene.trim().messageKeys == 0)
        }
    }
}
