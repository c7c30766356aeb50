import APNs
import PushTime
import TestSupport
import TestTraits
import Testing

@Suite(.waits) struct ProviderTokenMachineTests {
    /// A machine with its two clocks, in minutes.
    private struct Bench {
        var machine = ProviderTokenMachine()
        /// The time that has passed, in whole nanoseconds: a rounded time could forever be just before a deadline.
        var passed: Int64 = 0
        /// The minutes by which the wall clock was set ahead.
        var step = 0.0
        var mints: [Double] = []

        var minutes: Double { Double(passed) / 60e9 }
        var now: MonotonicTime { MonotonicTime(nanoseconds: Self.start + passed) }
        var wall: WallTime { WallTime(milliseconds: 1_767_225_600_000 + passed / 1_000_000 + Int64(step * 60_000)) }
        private static let start: Int64 = 5_000_000_000
        var age: Double { minutes - (mints.last ?? minutes) }

        mutating func input(_ input: ProviderTokenMachine.Input) {
            guard case .mint(let issuedAt) = machine.input(input, now: now, wall: wall) else { return }
            #expect(issuedAt == wall)
            mints.append(minutes)
            #expect(machine.input(.minted(generation: UInt64(mints.count)), now: now, wall: issuedAt) == .keep)
        }

        /// Looks whenever the machine asks for it, until `end`.
        mutating func run(until end: Double) {
            let last = Int64((end * 60e9).rounded())
            while machine.nextLook.nanoseconds - Self.start <= last {
                passed = max(passed, machine.nextLook.nanoseconds - Self.start)
                input(.looked)
            }
            passed = last
        }
    }

    private func begun() -> Bench {
        var bench = Bench()
        bench.input(.looked)
        return bench
    }

    @Test func `The first look mints a token, and another one follows every 50 minutes`() {
        var bench = begun()
        bench.run(until: 200)
        #expect(bench.mints == [0, 50, 100, 150, 200])
    }

    @Test func `A refused token is renewed at once if it is at least 20 minutes old`() {
        var bench = begun()
        bench.run(until: 30)
        bench.input(.refused(generation: 1))
        #expect(bench.mints == [0, 30])
    }

    @Test func `A refused token that is younger than 20 minutes is renewed at that age`() {
        var bench = begun()
        bench.run(until: 3)
        for _ in 0..<100 { bench.input(.refused(generation: 1)) }
        bench.run(until: 60)
        #expect(bench.mints == [0, 20])
    }

    @Test func `A refusal of another token than the current one renews nothing`() {
        var bench = begun()
        bench.run(until: 75)
        bench.input(.refused(generation: 1))
        bench.input(.refused(generation: 9))
        bench.run(until: 99)
        #expect(bench.mints == [0, 50])
    }

    @Test(arguments: [
        // The time of the step, its size, and the time of the renewal, in minutes.
        (30.0, -0.05, 50.0), (30.0, -0.2, 30.0), (5.0, -0.2, 20.0), (30.0, 4.9, 50.0), (30.0, 5.2, 30.0),
        (5.0, 600.0, 20.0), (5.0, -600_000.0, 20.0), (30.0, 1e9, 30.0), (49.0, -10.0, 49.0),
    ])
    func `A step of the wall clock makes the token stale, but it is kept for 20 minutes`(
        at: Double, step: Double, renewed: Double
    ) {
        var bench = begun()
        bench.run(until: at)
        bench.step = step
        bench.input(.looked)
        bench.run(until: 55)
        #expect(bench.mints == [0, renewed])
    }

    @Test func `A step of the wall clock is noticed within a minute even if no input comes`() {
        var bench = begun()
        bench.run(until: 30.5)
        bench.step = -1
        bench.run(until: 40)
        #expect(bench.mints == [0, 31])
    }

    @Test func `An unstable clock causes at most one mint in 20 minutes`() {
        var bench = begun()
        for minute in 1...240 {
            bench.step = minute.isMultiple(of: 2) ? 60 : -60
            bench.run(until: Double(minute))
            bench.input(.looked)
        }
        #expect(bench.mints == Array(stride(from: 0, through: 240, by: 20)))
    }

    @Test(arguments: [(5.0, 50.0), (29.0, 50.0), (35.0, 55.0), (49.0, 60.0)])
    func `After minting too often a token stays for 20 minutes more, but not past an hour`(at: Double, next: Double) {
        var bench = begun()
        bench.run(until: at)
        bench.input(.mintedTooOften)
        // A refusal does not shorten the wait.
        bench.input(.refused(generation: 1))
        if at < 30 { #expect(bench.mints == [0]) }
        bench.run(until: at + 19.9)
        #expect(bench.mints.count == (at + 19.9 >= 60 ? 2 : 1))
        bench.run(until: 61)
        #expect(bench.mints[1] == (at < 30 ? at + 20 : next))
    }

    @Test func `A failed mint is retried after a minute, not after 20`() {
        var machine = ProviderTokenMachine()
        let wall = WallTime(milliseconds: 0)
        var now = MonotonicTime(nanoseconds: 0)
        for _ in 0..<5 {
            #expect(machine.input(.looked, now: now, wall: wall) == .mint(issuedAt: wall))
            #expect(machine.input(.mintFailed, now: now, wall: wall) == .keep)
            #expect(machine.input(.looked, now: now + .seconds(59), wall: wall) == .keep)
            #expect(machine.nextLook == now + .seconds(60))
            now = now + .seconds(60)
        }
        #expect(machine.generation == nil)
    }

    @Test(arguments: 0..<20) func `A random walk keeps both of Apple's limits`(seed: UInt64) {
        var random = SeededRandom(seed: 900 + seed)
        var bench = begun()
        for _ in 0..<5_000 {
            switch Int.random(in: 0..<8, using: &random) {
            case 0: bench.input(.looked)
            case 1:
                let count = UInt64(bench.mints.count)
                bench.input(.refused(generation: Bool.random(using: &random) ? count : count &- 1))
            case 2: bench.input(.mintedTooOften)
            case 3: bench.step += Double.random(in: -90...90, using: &random)
            case 4: bench.step += Double.random(in: -0.1...0.1, using: &random)
            default: bench.run(until: bench.minutes + Double.random(in: 0...12, using: &random))
            }
            #expect(bench.age <= 60.0001)
            #expect(bench.machine.generation == UInt64(bench.mints.count))
        }
        let gaps = zip(bench.mints.dropFirst(), bench.mints).map { $0 - $1 }
        #expect(gaps.allSatisfy { $0 >= 19.9999 })
        #expect(gaps.count > 200)
    }
}
