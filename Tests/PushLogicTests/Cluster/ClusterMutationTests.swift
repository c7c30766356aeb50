import Testing

@testable import PushLogic

/// Mistakes of the statements and of the shell that the walks must find: tests of the test.
@Suite(.timeLimit(.minutes(5))) struct ClusterMutationTests {
    @Test(arguments: ModelMutation.allCases)
    func `The walks find each mistake`(_ mutation: ModelMutation) {
        for seed in UInt64(0)..<400 {
            if ClusterWalk(seed: seed, mutation: mutation).run() != nil { return }
        }
        Issue.record("400 walks do not find \(mutation)")
    }
}
