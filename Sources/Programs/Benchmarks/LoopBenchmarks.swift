import PushLoop
import Synchronization

/// An actor pinned to a loop that calls another actor in each round. Its state is accessed only by functions that are
/// not inlined, because the optimizer removes hops to an actor whose state is not used.
private actor Pinned {
    nonisolated let loop: EventLoop
    private var count = 0

    init(on loop: EventLoop) {
        self.loop = loop
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    @inline(never) func bump() -> Int {
        count += 1
        return count
    }

    func rounds(_ number: Int, with partner: Pinned) async -> Int {
        var sum = 0
        for _ in 0..<number { sum &+= await partner.bump() &+ bump() }
        return sum
    }
}

private actor Plain {
    private var count = 0

    @inline(never) func bump() -> Int {
        count += 1
        return count
    }

    func rounds(_ number: Int, with partner: Plain) async -> Int {
        var sum = 0
        for _ in 0..<number { sum &+= await partner.bump() &+ bump() }
        return sum
    }
}

/// Returns the median of several runs, in nanoseconds per round trip (two hops).
private func median(of runs: Int, rounds: Int, work: () async -> Void) async -> Double {
    var times: [Double] = []
    for _ in 0..<runs {
        let start = MonotonicTime.current()
        await work()
        times.append(Double((MonotonicTime.current() - start).wholeNanoseconds) / Double(rounds))
    }
    return times.sorted()[runs / 2]
}

enum LoopBenchmarks {
    static func hops(_ arguments: [String]) async throws -> [Figure] {
        let loops = LoopGroup(count: 2, name: "bench")
        let (one, two) = (loops.loops[0], loops.loops[1])
        let rounds = 200_000
        let (a, b, elsewhere) = (Pinned(on: one), Pinned(on: one), Pinned(on: two))
        let (c, d) = (Plain(), Plain())
        let same = await median(of: 5, rounds: rounds) { _ = await a.rounds(rounds, with: b) }
        let plain = await median(of: 5, rounds: rounds) { _ = await c.rounds(rounds, with: d) }
        let across = await median(of: 5, rounds: rounds / 20) { _ = await a.rounds(rounds / 20, with: elsewhere) }
        await loops.shutDown()
        return [
            Figure(name: "round trip on one loop", value: same, unit: "ns"),
            Figure(name: "round trip between default actors", value: plain, unit: "ns"),
            Figure(name: "round trip between two loops", value: across, unit: "ns"),
            Figure(name: "one loop / default actors", value: same / plain, unit: "x (at most 3)"),
        ]
    }

    static func burst(_ arguments: [String]) async throws -> [Figure] {
        let loop = EventLoop(name: "burst")
        let size = 20_000
        var times: [Double] = []
        var turns: [Double] = []
        for _ in 0..<11 {
            let done = Atomic<Int>(0)
            let before = await loop.run { loop.tickCount }
            let start = MonotonicTime.current()
            for _ in 0..<size {
                loop.execute { done.wrappingAdd(1, ordering: .relaxed) }
            }
            let after = await loop.run { loop.tickCount }
            precondition(done.load(ordering: .relaxed) == size, "the loop lost jobs")
            times.append(Double((MonotonicTime.current() - start).wholeNanoseconds) / Double(size) / 1000)
            turns.append(Double(after - before))
        }
        await loop.shutDown()
        return [
            Figure(name: "a job in a burst across loops", value: times.sorted()[5], unit: "us (at most 2)"),
            Figure(name: "turns of the loop for 20,000 jobs", value: turns.sorted()[5], unit: ""),
        ]
    }
}
