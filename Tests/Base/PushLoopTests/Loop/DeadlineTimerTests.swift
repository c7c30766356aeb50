import TestSupport
import Testing

@testable import PushLoop

@Suite struct DeadlineTimerTests {
    /// An owner of a timer, which records when the timer fires.
    private final class Owner {
        var timer = DeadlineTimer()
        let loop: EventLoop
        let start: MonotonicTime
        let fired: Recorder<String>

        init(on loop: EventLoop, fired: Recorder<String>) {
            self.loop = loop
            start = loop.now
            self.fired = fired
        }

        var deadline: MonotonicTime? { timer.deadline(on: loop) }
        var isArmed: Bool { timer.isArmed(on: loop) }

        func arm(after delay: Duration, as name: String = "timer") {
            timer.arm(
                at: loop.now + delay, on: loop,
                action: { [loop, start, fired] in fired.add("\(name) at \((loop.now - start).inSeconds)") })
        }

        func disarm() {
            timer.disarm(on: loop)
        }
    }

    private let loop = EventLoop(name: "deadlines", clock: .manual())
    private let fired = Recorder<String>()

    private func owner() async -> LoopBound<Owner> {
        await loop.run { [loop, fired] in LoopBound(Owner(on: loop, fired: fired), on: loop) }
    }

    @Test("The timer fires once at its deadline and is then not armed") func firesOnceAtItsDeadline() async {
        let owner = await owner()
        await owner.with { owner in
            #expect(!owner.isArmed)
            owner.arm(after: .seconds(5))
            #expect(owner.deadline == owner.loop.now + .seconds(5))
        }
        await loop.advance(by: .milliseconds(4999))
        #expect(fired.values == [])
        await loop.advance(by: .seconds(60))
        #expect(fired.values == ["timer at 5.0"])
        await owner.with { owner in #expect(!owner.isArmed) }
        await loop.shutDown()
    }

    @Test("An armed timer moves to an earlier or later deadline", arguments: [1, 9]) func moves(seconds: Int) async {
        let owner = await owner()
        await owner.with { owner in
            owner.arm(after: .seconds(5))
            owner.arm(after: .seconds(seconds))
            #expect(owner.deadline == owner.loop.now + .seconds(seconds))
        }
        await loop.advance(by: .seconds(60))
        #expect(fired.values == ["timer at \(seconds).0"])
        await loop.shutDown()
    }

    @Test("A move keeps the action and does not make another") func moveKeepsTheAction() async {
        let owner = await owner()
        await owner.with { owner in
            var made = 0
            func action() -> () -> Void {
                made += 1
                return { [fired = owner.fired] in fired.add("action") }
            }
            for second in [3, 3, 2] {
                owner.timer.arm(at: owner.loop.now + .seconds(second), on: owner.loop, action: action())
            }
            #expect(made == 1)
        }
        await loop.advance(by: .seconds(60))
        #expect(fired.values == ["action"])
        await loop.shutDown()
    }

    @Test("A disarmed timer does not fire and can be armed with another action") func disarms() async {
        let owner = await owner()
        await owner.with { owner in
            owner.arm(after: .seconds(1), as: "first")
            owner.disarm()
            owner.disarm()
            #expect(!owner.isArmed)
            owner.arm(after: .seconds(2), as: "second")
        }
        await loop.advance(by: .seconds(60))
        #expect(fired.values == ["second at 2.0"])
        await loop.shutDown()
    }

    @Test("Disarming releases the action") func disarmingReleasesTheAction() async {
        let owner = await owner()
        await owner.with { owner in
            weak var captured: Recorder<Int>?
            do {
                let object = Recorder<Int>()
                captured = object
                owner.timer.arm(at: owner.loop.now + .seconds(1), on: owner.loop, action: { object.add(1) })
            }
            #expect(captured != nil)
            owner.disarm()
            #expect(captured == nil)
        }
        await loop.shutDown()
    }

    @Test("The action may arm the timer again") func actionMayArmTheTimerAgain() async {
        let owner = await owner()
        await owner.with { owner in
            func arm() {
                owner.timer.arm(
                    at: owner.loop.now + .seconds(1), on: owner.loop,
                    action: { [unowned owner] in
                        owner.fired.add("armed: \(owner.isArmed)")
                        if owner.fired.values.count < 3 { arm() }
                    })
            }
            arm()
        }
        await loop.advance(by: .seconds(60))
        #expect(fired.values == Array(repeating: "armed: false", count: 3))
        await loop.shutDown()
    }

    @Test("A timer that has fired leaves the timers of others alone") func leavesOthersAlone() async {
        let owner = await owner()
        await owner.with { owner in owner.arm(after: .seconds(1)) }
        await loop.advance(by: .seconds(1))
        await owner.with { owner in
            // This timer takes the slot in the heap that the first one had.
            owner.loop.schedule(after: .seconds(1)) { [fired = owner.fired] in fired.add("other") }
            #expect(!owner.isArmed)
            owner.disarm()
            owner.arm(after: .seconds(2), as: "again")
        }
        await loop.advance(by: .seconds(60))
        #expect(fired.values == ["timer at 1.0", "other", "again at 3.0"])
        await loop.shutDown()
    }
}
