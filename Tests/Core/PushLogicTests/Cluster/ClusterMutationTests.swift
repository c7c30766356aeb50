import TestSupport
import TestTraits
import Testing

@testable import PushLogic

/// Mistakes of the statements and of the shell that the walks must find: tests of the test. Without the recovery, all that
/// a walk can find is a broken promise.
@Suite(.waits) struct ClusterMutationTests {
    @Test(arguments: ModelMutation.allCases)
    func `The walks find each mistake`(_ mutation: ModelMutation) async {
        for seed in UInt64(0)..<300 {
            await pace()
            if ClusterWalk(seed: seed, mutation: mutation).run(recovers: false) != nil { return }
        }
        Issue.record("300 walks do not find \(mutation)")
    }
}
