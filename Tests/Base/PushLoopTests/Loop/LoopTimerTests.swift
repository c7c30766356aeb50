import Synchronization
import TestSupport
import TestTraits
import Testing

@testable import PushLoop

@Suite struct LoopTimerTests {
    private let loop = EventLoop(name: "timers", clock: .manual())
    private let fired = Recorder<String>()

    @Test("A timer fires once at its time") func timerFiresOnceAtItsTime() async {
        _ = await loop.run { [loop, fired] in
            let start = loop.now
            loop.schedule(after: .seconds(5)) { fired.add("at \((loop.now - start).inSeconds)") }
        }
        await loop.advance(by: .milliseconds(4999))
        #expect(fired.values == [])
        await loop.advance(by: .milliseconds(1))
        #expect(fired.values == ["at 5.0"])
        await loop.advance(by: .seconds(60))
        #expect(fired.values == ["at 5.0"])
        await loop.shutDown()
    }

    @Test("A manual clock stands still until it is advanced") func timeStandsStillUntilItIsTurned() async {
        let first = await loop.run { [loop] in loop.now }
        let second = await loop.run { [loop] in loop.now }
        #expect(first == second)
        await loop.advance(by: .seconds(3))
        let third = await loop.run { [loop] in loop.now }
        #expect(third == first + .seconds(3))
        await loop.shutDown()
    }

    @Test("A repeating timer fires until it is cancelled") func repeatingTimerFiresUntilItIsCancelled() async {
        let handle = await loop.run { [loop, fired] in
            LoopBound(loop.scheduleRepeating(every: .seconds(1)) { fired.add("tick") }, on: loop)
        }
        await loop.advance(by: .milliseconds(3500))
        #expect(fired.values.count == 3)
        await handle.with { [loop] in loop.cancel($0) }
        await loop.advance(by: .seconds(10))
        #expect(fired.values.count == 3)
        await handle.with { [loop] in loop.cancel($0) }
        await loop.shutDown()
    }

    @Test("A repeating timer may cancel itself") func repeatingTimerMayCancelItself() async {
        await loop.run { [loop, fired] in
            var handle: TimerHandle?
            handle = loop.scheduleRepeating(every: .seconds(1)) {
                fired.add("tick")
                if fired.values.count == 2, let handle { loop.cancel(handle) }
            }
        }
        await loop.advance(by: .seconds(10))
        #expect(fired.values.count == 2)
        await loop.shutDown()
    }

    @Test("A cancelled timer does not fire, and a second cancel returns false")
    func cancelledTimerDoesNotFireAndSaysSo() async {
        await loop.run { [loop, fired] in
            let timer = loop.schedule(after: .seconds(1)) { fired.add("no") }
            #expect(loop.cancel(timer))
            #expect(!loop.cancel(timer))
        }
        await loop.advance(by: .seconds(2))
        #expect(fired.values == [])
        await loop.shutDown()
    }

    @Test("A timer cancelled by another one of the same tick does not fire")
    func timerCancelledByAnotherOfTheSameTickDoesNotFire() async {
        await loop.run { [loop, fired] in
            var second: TimerID?
            loop.schedule(after: .seconds(1)) {
                fired.add("first")
                if let second { #expect(loop.cancel(second)) }
            }
            second = loop.schedule(after: .seconds(1)) { fired.add("second") }
        }
        await loop.advance(by: .seconds(1))
        #expect(fired.values == ["first"])
        await loop.shutDown()
    }

    @Test("A rescheduled timer fires only at the new time") func rescheduledTimerFiresAtTheNewTimeOnly() async {
        let timer = await loop.run { [loop, fired] in loop.schedule(after: .seconds(1)) { fired.add("moved") } }
        await loop.run { [loop] in #expect(loop.reschedule(timer, at: loop.now + .seconds(3))) }
        await loop.advance(by: .seconds(2))
        #expect(fired.values == [])
        await loop.advance(by: .seconds(1))
        #expect(fired.values == ["moved"])
        await loop.run { [loop] in #expect(!loop.reschedule(timer, at: loop.now)) }
        await loop.shutDown()
    }

    @Test("Timers with the same deadline fire in the order of creation")
    func timersOfOneDeadlineFireInTheOrderOfTheirSetting() async {
        await loop.run { [loop, fired] in
            for number in 0..<100 {
                loop.schedule(after: .seconds(1)) { fired.add("\(number)") }
            }
        }
        await loop.advance(by: .seconds(1))
        #expect(fired.values == (0..<100).map { "\($0)" })
        await loop.shutDown()
    }

    @Test("Timers that a timer sets fire in the same advance of the clock")
    func timersThatATimerSetsFireInTheSameTurnOfTheHands() async {
        _ = await loop.run { [loop, fired] in
            loop.schedule(after: .seconds(1)) {
                fired.add("one")
                loop.schedule(after: .zero) { fired.add("two") }
                loop.schedule(after: .seconds(1)) { fired.add("three") }
            }
        }
        await loop.advance(by: .seconds(1))
        #expect(fired.values == ["one", "two"])
        await loop.advance(by: .seconds(1))
        #expect(fired.values == ["one", "two", "three"])
        await loop.shutDown()
    }
}

/// Tests with the system clock, for behavior that a manual clock cannot show.
@Suite struct LoopRealTimerTests {
    /// A timer without delay that sets itself again must let descriptors and jobs get their turn, however many other
    /// timers are set: it fires once per tick.
    @Test("Timers without delay fire once per tick") func zeroLengthTimersFireOnceATick() async {
        let loop = EventLoop(name: "zero")
        let ticks = Recorder<UInt64>()
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            loop.execute {
                for _ in 0..<1000 { loop.schedule(after: .seconds(3600)) {} }
                func again() {
                    ticks.add(loop.tickCount)
                    if ticks.values.count == 200 { return continuation.resume() }
                    loop.schedule(after: .zero) { again() }
                }
                loop.schedule(after: .zero) { again() }
            }
        }
        #expect(zip(ticks.values, ticks.values.dropFirst()).allSatisfy { $0 < $1 })
        await loop.shutDown()
    }

    @Test("Timers without delay do not starve jobs") func zeroLengthTimersDoNotStarveJobs() async {
        let loop = EventLoop(name: "starve")
        let stop = Atomic(false)
        loop.execute {
            func again() {
                if !stop.load(ordering: .relaxed) { loop.schedule(after: .zero) { again() } }
            }
            again()
        }
        for _ in 0..<100 { await loop.run {} }
        stop.store(true, ordering: .relaxed)
        await loop.shutDown()
    }

    /// libevent reads a coarse clock and may wake up some milliseconds before the deadline. The loop must then wait for
    /// the timer again; nothing else wakes it.
    @Test("A timer is not lost when libevent wakes up early", .waits)
    func noTimerIsLostToAnEarlyWakeUp() async {
        let loop = EventLoop(name: "early")
        var random = SeededRandom(seed: 11)
        let waits = (0..<200).map { _ in Duration.microseconds(Int.random(in: 1...6000, using: &random)) }
        let fired = Recorder<Bool>()
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            loop.execute {
                func next(_ index: Int) {
                    if index == waits.count { return continuation.resume() }
                    let deadline = loop.now + waits[index]
                    loop.schedule(at: deadline) {
                        fired.add(MonotonicTime.current() >= deadline)
                        next(index + 1)
                    }
                }
                next(0)
            }
        }
        #expect(fired.values.count == waits.count)
        #expect(fired.values.allSatisfy { $0 }, "no timer fires before its deadline")
        await loop.shutDown()
    }
}
