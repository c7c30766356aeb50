import PushModel
import PushTime
import Testing

@testable import PushLogic

/// Random walks of clusters beside a model that knows what must never happen.
@Suite(.timeLimit(.minutes(5))) struct ClusterWalkTests {
    @Test(arguments: 0..<8)
    func `No walk breaks a promise, and the cluster recovers in the end`(_ part: UInt64) {
        for seed in (part * 100)..<(part * 100 + 100) {
            guard ClusterWalk(seed: seed).run() != nil else { continue }
            return Self.report(seed, nil)
        }
    }

    static func report(_ seed: UInt64, _ mutation: ModelMutation?) {
        let walk = ClusterWalk(seed: seed, mutation: mutation, keepsHistory: true)
        let fault = walk.run() ?? "the fault does not repeat"
        Issue.record("seed \(seed): \(fault)\n\(walk.world.history.suffix(120).joined(separator: "\n"))")
    }
}
