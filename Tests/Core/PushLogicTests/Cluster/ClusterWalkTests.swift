import TestSupport
import TestTraits
import Testing

@testable import PushLogic

/// Random walks of clusters beside a model that knows what must never happen.
@Suite(.waits) struct ClusterWalkTests {
    @Test func `No short series of walks breaks a promise`() async {
        await ClusterWalk.run(seeds: 1_000_000..<1_000_060)
    }
}

/// Many walks in `Tools/test --long`, some of them in each run. `Tools/test --fast` leaves them out.
@Suite(.waits) struct ClusterLongWalkTests {
    @Test(arguments: 0..<4)
    func `No walk breaks a promise, and the cluster recovers in the end`(_ part: UInt64) async {
        let count = RunKind.rounds(15, long: 300)
        await ClusterWalk.run(seeds: part * 300..<part * 300 + UInt64(count))
    }
}

extension ClusterWalk {
    /// Walks with each seed. The first that fails is repeated for its history.
    static func run(seeds: Range<UInt64>) async {
        for seed in seeds {
            // Other tests share the threads, and their time limits count while they wait for one.
            await pace()
            guard ClusterWalk(seed: seed).run() != nil else { continue }
            let walk = ClusterWalk(seed: seed, keepsHistory: true)
            let fault = walk.run() ?? "the fault does not repeat"
            Issue.record("seed \(seed): \(fault)\n\(walk.world.history.suffix(200).joined(separator: "\n"))")
            return
        }
    }
}
