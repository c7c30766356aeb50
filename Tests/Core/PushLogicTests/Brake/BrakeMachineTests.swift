import PushLogic
import PushTime
import TestSupport
import Testing

@Suite struct BrakeMachineTests {
    private typealias Candidates = BrakeMachine.Candidates

    private static func time(_ seconds: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: seconds * 1_000_000_000) }

    @Test func `A flood of bad tokens in one batch is stopped as a whole and reported once`() {
        var brake = BrakeMachine()
        #expect(brake.answered(1000, candidates: Candidates(misdirected: 20), now: Self.time(0)) == .pass)
        #expect(
            brake.answered(1000, candidates: Candidates(misdirected: 900), now: Self.time(1))
                == .trip(candidates: 900, answers: 1000))
        #expect(brake.isStopped)
        #expect(brake.answered(1000, candidates: Candidates(misdirected: 900), now: Self.time(2)) == .hold)
        #expect(brake.answered(10, candidates: Candidates(dead: 1), now: Self.time(3)) == .hold)
    }

    @Test func `A brake that an operator releases stays off for the answers so far, and trips again by new ones`() {
        var brake = BrakeMachine()
        _ = brake.answered(1000, candidates: Candidates(misdirected: 900), now: Self.time(1))
        #expect(brake.isStopped)
        brake.release()
        #expect(!brake.isStopped && brake.window.answers == 0)
        #expect(brake.answered(1, candidates: Candidates(misdirected: 1), now: Self.time(2)) == .pass)
        #expect(
            brake.answered(1000, candidates: Candidates(misdirected: 900), now: Self.time(3))
                == .trip(candidates: 901, answers: 1001))
    }

    @Test func `Answers that come before their candidates count the same as both at once`() {
        var brake = BrakeMachine()
        for second in 0..<100 {
            #expect(brake.answered(500, now: Self.time(Int64(second))) == .pass)
            #expect(
                brake.answered(0, candidates: Candidates(misdirected: 200, dead: 40), now: Self.time(Int64(second)))
                    == .pass)
        }
        #expect(brake.answered(500, now: Self.time(100)) == .pass)
        let action = brake.answered(0, candidates: Candidates(misdirected: 300), now: Self.time(100))
        guard case .trip = action else {
            Issue.record("\(action)")
            return
        }
    }

    @Test func `A list of only dead tokens is cleaned up`() {
        var brake = BrakeMachine()
        for second in 0..<100 {
            #expect(brake.answered(500, candidates: Candidates(dead: 500), now: Self.time(Int64(second))) == .pass)
        }
    }

    @Test func `Dead tokens in addition to bad ones count a quarter each`() {
        var brake = BrakeMachine()
        // The suspicion is 70 + 30/4 of 160 answers: 48 %.
        #expect(brake.answered(160, candidates: Candidates(misdirected: 70, dead: 30), now: Self.time(0)) == .pass)
        brake = BrakeMachine()
        // The suspicion is 70 + 90/4 of 160 answers: 58 %.
        #expect(
            brake.answered(160, candidates: Candidates(misdirected: 70, dead: 90), now: Self.time(0))
                == .trip(candidates: 160, answers: 160))
    }

    @Test(arguments: [(49, false), (50, true)]) func `A few bad tokens are not a flood`(count: Int, trips: Bool) {
        var brake = BrakeMachine()
        var tripped = false
        for number in 0..<count {
            if case .trip = brake.answered(1, candidates: Candidates(misdirected: 1), now: Self.time(Int64(number))) {
                tripped = true
            }
        }
        #expect(tripped == trips && brake.isStopped == trips)
    }

    @Test func `Answers older than an hour are forgotten`() {
        var brake = BrakeMachine()
        for number in 0..<500 {
            // The rate is 40 an hour.
            #expect(
                brake.answered(1, candidates: Candidates(misdirected: 1), now: Self.time(Int64(number) * 90)) == .pass)
        }
    }

    @Test func `Good answers from long ago do not hide a flood for long`() {
        var brake = BrakeMachine()
        _ = brake.answered(1_000_000, now: Self.time(0))
        var passed = 0
        while passed < 10_000 {
            if case .trip = brake.answered(1, candidates: Candidates(misdirected: 1), now: Self.time(1)) { break }
            passed += 1
        }
        // The large batch leaves the window as soon as it has 200 newer answers.
        #expect(passed < 250)
    }

    @Test func `Deactivations resume when the answers have been normal for ten minutes`() {
        var brake = BrakeMachine()
        _ = brake.answered(200, candidates: Candidates(misdirected: 200), now: Self.time(0))
        #expect(brake.isStopped)
        var released: Int64?
        for second in 1..<2000 {
            switch brake.answered(10, candidates: Candidates(misdirected: 1), now: Self.time(Int64(second))) {
            case .release: released = released ?? Int64(second)
            case .hold: #expect(released == nil)
            case .pass: #expect(released != nil)
            case .trip: Issue.record("tripped again")
            }
        }
        // The flood leaves the window after some 20 s, and ten minutes follow.
        #expect((600...640).contains(released ?? 0), "\(released ?? 0)")
    }

    @Test func `A relapse restarts the ten minutes, and silence does not release the brake`() {
        var brake = BrakeMachine()
        _ = brake.answered(200, candidates: Candidates(misdirected: 200), now: Self.time(0))
        for second in 1..<500 { #expect(brake.answered(10, now: Self.time(Int64(second))) == .hold) }
        #expect(brake.answered(300, candidates: Candidates(misdirected: 290), now: Self.time(500)) == .hold)
        for second in 501..<1100 { #expect(brake.answered(10, now: Self.time(Int64(second))) == .hold) }
        #expect(brake.isStopped)
        var silent = BrakeMachine()
        _ = silent.answered(200, candidates: Candidates(misdirected: 200), now: Self.time(0))
        #expect(silent.answered(0, now: Self.time(100_000)) == .hold)
        #expect(silent.answered(5, now: Self.time(100_001)) == .hold)
        #expect(silent.answered(5, now: Self.time(200_000)) == .hold)
    }

    /// The same rules are applied to the list of all batches, without buckets. The window of the machine must be a tail
    /// of that list.
    @Test(arguments: 0..<40) func `Whatever comes, the machine follows the rules for its window`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var brake = BrakeMachine()
        var batches: [(at: Int64, answers: Int, bad: Int, dead: Int)] = []
        var now: Int64 = 0
        var share = 0.1
        for _ in 0..<3000 {
            now += Int64.random(in: 0...20, using: &random)
            if Int.random(in: 0..<200, using: &random) == 0 { share = Double.random(in: 0...1, using: &random) }
            let answers = Int.random(in: 1...40, using: &random)
            var (bad, dead) = (0, 0)
            for _ in 0..<answers where Double.random(in: 0..<1, using: &random) < share {
                if Int.random(in: 0..<5, using: &random) == 0 { dead += 1 } else { bad += 1 }
            }
            batches.append((now, answers, bad, dead))
            let wasStopped = brake.isStopped
            let action = brake.answered(
                answers, candidates: Candidates(misdirected: bad, dead: dead), now: Self.time(now))
            // The window is a tail of the list: one of these lengths.
            let window = brake.window
            var (sum, sumBad, sumDead) = (0, 0, 0)
            var isTail = false
            for batch in batches.reversed() {
                sum += batch.answers
                sumBad += batch.bad
                sumDead += batch.dead
                if sum == window.answers {
                    isTail = true
                    #expect(sumBad == window.candidates.misdirected && sumDead == window.candidates.dead)
                    #expect(now - batch.at <= 3600 + 60)
                    break
                }
            }
            #expect(isTail && window.answers < 200 + 100)
            let quarters = 4 * window.candidates.misdirected + window.candidates.dead
            let isFlood = quarters >= 200 && quarters > 2 * window.answers
            switch action {
            case .pass: #expect(!wasStopped && !isFlood)
            case .trip: #expect(!wasStopped && isFlood && brake.isStopped)
            case .hold: #expect(wasStopped && brake.isStopped)
            case .release: #expect(wasStopped && !brake.isStopped && quarters <= window.answers)
            }
        }
    }
}
