import PushModel
import PushTime
import Testing

@testable import PushStore

@Suite(.timeLimit(.minutes(15))) struct AgeClockTests {
    private static let day: Int64 = 86_400_000
    private static let year = 365 * day

    private func steady(_ milliseconds: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: milliseconds * 1_000_000) }

    @Test func `It shows what the wall clock shows`() {
        var clock = AgeClock(last: nil, wall: 1000, steady: steady(5))
        #expect(clock.time == 1000)
        clock.advance(wall: 2500, steady: steady(1505))
        #expect(clock.time == 2500)
        // A pause of less than an hour, as of a machine that slept.
        clock.advance(wall: 3_000_000, steady: steady(1506))
        #expect(clock.time == 3_000_000)
        clock.advance(wall: 5, steady: steady(1507))
        #expect(clock.time == 5)
    }

    @Test func `A clock that jumps ahead and comes back is not followed`() {
        var clock = AgeClock(last: nil, wall: 1000, steady: steady(0))
        clock.advance(wall: Self.year, steady: steady(10))
        #expect(clock.time == 1010)
        clock.advance(wall: Self.year + 3_600_000, steady: steady(3_600_010))
        #expect(clock.time == 3_601_010)
        clock.advance(wall: 3_601_020, steady: steady(3_600_020))
        #expect(clock.time == 3_601_020)
        // From then on it has to be ahead for a whole day again.
        clock.advance(wall: Self.year + Self.day, steady: steady(Self.day))
        #expect(clock.time == Self.day + 1000)
    }

    @Test func `A clock that stays ahead for a day is right`() {
        var clock = AgeClock(last: nil, wall: 1000, steady: steady(0))
        clock.advance(wall: Self.year, steady: steady(0))
        clock.advance(wall: Self.year + Self.day - 1, steady: steady(Self.day - 1))
        #expect(clock.time == Self.day + 999)
        clock.advance(wall: Self.year + Self.day, steady: steady(Self.day))
        #expect(clock.time == Self.year + Self.day)
    }

    @Test func `After a long pause the day counts from the start`() {
        var clock = AgeClock(last: AgeClock.Stored(time: 1000), wall: Self.year, steady: steady(7))
        #expect(clock.time == 1000)
        clock.advance(wall: Self.year + Self.day, steady: steady(Self.day + 7))
        #expect(clock.time == Self.year + Self.day)
    }

    @Test func `Runs of less than a day add up to it`() {
        var clock = AgeClock(last: AgeClock.Stored(time: 1000), wall: Self.year, steady: steady(7))
        #expect(clock.stored == AgeClock.Stored(time: 1000, aheadSince: Self.year))
        clock = AgeClock(last: clock.stored, wall: Self.year + Self.day / 2, steady: steady(3))
        #expect(clock.time == 1000)
        clock.advance(wall: Self.year + Self.day - 1, steady: steady(Self.day / 2 + 2))
        #expect(clock.time == Self.day / 2 + 999)
        clock = AgeClock(last: clock.stored, wall: Self.year + Self.day, steady: steady(9))
        #expect(clock.stored == AgeClock.Stored(time: Self.year + Self.day))
    }

    @Test func `A clock that was set back between two runs counts from its next jump`() {
        let stored = AgeClock.Stored(time: 1000, aheadSince: Self.year)
        var clock = AgeClock(last: stored, wall: 5000, steady: steady(0))
        #expect(clock.stored == AgeClock.Stored(time: 5000))
        // The second jump goes less far: what was stored lies ahead of it.
        clock = AgeClock(last: stored, wall: Self.year / 2, steady: steady(0))
        #expect(clock.time == 1000)
        clock.advance(wall: Self.year / 2 + Self.day - 1, steady: steady(Self.day - 1))
        #expect(clock.time == Self.day + 999)
        clock.advance(wall: Self.year / 2 + Self.day, steady: steady(Self.day))
        #expect(clock.time == Self.year / 2 + Self.day)
    }

    @Test(arguments: [.min, -1, 0, .max] as [Int64], [.min, 0, .max] as [Int64])
    func `No time is too far away for it`(last: Int64, wall: Int64) {
        for since in [nil, .min, 0, .max] as [Int64?] {
            let stored = AgeClock.Stored(time: last, aheadSince: since)
            var clock = AgeClock(last: stored, wall: wall, steady: MonotonicTime(nanoseconds: .min))
            clock.advance(wall: wall, steady: .distantFuture)
            clock.advance(wall: .max, steady: steady(0))
            clock.advance(wall: .min, steady: .distantFuture)
            #expect(clock.time == .min)
        }
    }

    @Test(arguments: [false, true]) func `A year ahead and back: nothing is forgotten`(reopens: Bool) async throws {
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
            // And all of it grows old as it should.
            for message in try await scene.load(Array(1...10)) { scene.carryOut(message) }
            scene.advance(day * 8)
            let later = await scene.trim()
            #expect(later.deliveryKeys == 0)
        }
    }

    /// A machine that is off each night.
    @Test func `After an outage what is old is forgotten within days, however short the runs are`() async throws {
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

    /// Nothing is handed in for weeks, then the process is started anew.
    @Test(arguments: [false, true]) func `What is sent after a long pause is remembered for the window`(isOff: Bool)
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
