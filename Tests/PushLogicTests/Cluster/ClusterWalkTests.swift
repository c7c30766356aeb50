import Testing

@testable import PushLogic

/// Random walks of clusters beside a model that knows what must never happen.
@Suite(.timeLimit(.minutes(5))) struct ClusterWalkTests {
    @Test func `No short series of walks breaks a promise`() {
        ClusterWalk.run(seeds: 1_000_000..<1_000_060)
    }
}

/// Many walks. `Tools/test --fast` leaves them out.
@Suite(.timeLimit(.minutes(10))) struct ClusterLongWalkTests {
    @Test(arguments: 0..<8)
    func `No walk breaks a promise, and the cluster recovers in the end`(_ part: UInt64) {
        ClusterWalk.run(seeds: part * 250..<part * 250 + 250)
    }
}

extension ClusterWalk {
    /// Walks with each seed. The first that fails is repeated for its history.
    static func run(seeds: Range<UInt64>) {
        for seed in seeds where ClusterWalk(seed: seed).run() != nil {
            let walk = ClusterWalk(seed: seed, keepsHistory: true)
            let fault = walk.run() ?? "the fault does not repeat"
            Issue.record("seed \(seed): \(fault)\n\(walk.world.history.suffix(200).joined(separator: "\n"))")
            return
        }
    }
}
