import TestTraits
import Testing

@testable import PushLogic

/// Random walks of the router beside a model that knows only what must never happen: a delivery that ends twice or
/// never, one that is sent twice at a time, an exceeded limit, or a gateway that gets more than its credit.
@Suite struct RouterWalkTests {
    @Test(arguments: [false, true]) func `No walk breaks a promise, and every accepted message completes`(
        _ restarts: Bool
    ) {
        for seed in UInt64(1)...RunKind.rounds(10, long: 100) {
            let walk = RouterWalk(seed: seed, restarts: restarts)
            for _ in 0..<120 where walk.fault == nil { walk.step() }
            walk.recover()
            if let fault = walk.fault {
                Issue.record("seed \(seed): \(fault)")
                return
            }
        }
    }

    /// Parts of the ledger are closed at any time, and opened again with what they have then.
    @Test(arguments: [1, 2] as [UInt64]) func `Nothing is lost or sent twice when parts close and open again`(
        _ half: UInt64
    ) {
        for seed in half * 1000..<half * 1000 + RunKind.rounds(10, long: 100) {
            let walk = RouterWalk(seed: seed, restarts: false, parts: 3)
            for _ in 0..<150 where walk.fault == nil { walk.step() }
            walk.recover()
            if let fault = walk.fault {
                Issue.record("seed \(seed): \(fault)")
                return
            }
            #expect(walk.closings > 0)
            #expect(walk.leftovers() == [])
        }
    }

    /// Messages that are sent, suppressed, cancelled, dropped, expired, paused, refused, or retried, while gateways come
    /// and go.
    @Test(arguments: [101, 102] as [UInt64]) func `A long walk leaves nothing behind`(seed: UInt64) {
        let walk = RouterWalk(seed: seed, restarts: false)
        for _ in 0..<500 where walk.fault == nil { walk.step() }
        walk.recover()
        #expect(walk.fault == nil)
        #expect(walk.leftovers() == [])
    }
}
