import PushLoop
import PushModel
import TestSupport
import TestTraits
import Testing

/// Random walks of messages to a service whose server fails in all its ways, with a restart in the middle.
@Suite(.waits) struct StubWalkTests {
    @Test(arguments: UInt64(1)...RunKind.rounds(2, long: 8))
    func `Each delivery ends once, and only a silent server gets one twice`(seed: UInt64) async throws {
        try await StubScene.run { scene in
            let walk = StubWalk(seed: seed, in: scene)
            try await walk.run(steps: RunKind.rounds(300, long: 1000))
            if let fault = try await walk.firstFault() { Issue.record("seed \(seed): \(fault)") }
        }
    }
}
