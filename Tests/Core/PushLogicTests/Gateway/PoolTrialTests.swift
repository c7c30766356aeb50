import APNs
import PushLogic
import PushModel
import PushTime
import Testing

/// Attempts with a credential that the push service has refused.
@Suite struct PoolTrialTests {
    private static let refused = ConnectionFault(
        refused: Refusal(status: 403, reason: "InvalidProviderToken"), by: .apns)

    /// A pool with an open connection whose first delivery was refused.
    private func refusedPool(usesTokens: Bool = true, halts: Bool = false) -> PoolScript {
        let pool = PoolScript(usesTokens: usesTokens) { $0.connects = .unlimited }
        if usesTokens { pool.input { $0.tokenArrived(1, now: $1) } }
        let id = pool.bringUp()[0]
        pool.hand(1)
        refuse(id, of: pool, halts: halts)
        return pool
    }

    private func refuse(_ id: ConnectionID, of pool: PoolScript, halts: Bool = false) {
        pool.end(id) {
            $0.refused = 1
            $0.asksForAnother = true
            $0.credentialFault = Self.refused
            if halts { $0.halt = GatewayHalt(.refused, message: "scripted") } else { $0.refusedToken = 1 }
        }
        pool.close(id, .byUs)
    }

    @Test(arguments: [false, true]) func `One delivery on one connection tries a refused credential every minute`(
        _ halts: Bool
    ) {
        let pool = refusedPool(usesTokens: !halts, halts: halts)
        var last = pool.now
        for _ in 0..<40 {
            #expect(pool.hand(1000).isEmpty && pool.credit == 0)
            while pool.lookUpsAsked.isEmpty, pool.now < last + .seconds(61) { pool.pass(.seconds(1)) }
            #expect(pool.now - last <= .seconds(46))
            last = pool.now
            let ids = pool.bringUp()
            #expect(ids.count == 1)
            #expect(pool.hand(1000) == [GatewayMachine.Assignment(connection: ids[0], count: 1)])
            #expect(pool.hand(999).isEmpty)
            refuse(ids[0], of: pool, halts: halts)
        }
        guard case .halted = pool.state else {
            Issue.record("\(pool.state)")
            return
        }
        #expect(pool.events.count { if case .credentialFailed = $0 { true } else { false } } == 1)
        // Attempts that only repeat others are not reported.
        #expect(pool.events.count { if case .up = $0 { true } else { false } } < 10)
        #expect(pool.events.count { if case .down = $0 { true } else { false } } < 10)
        #expect(pool.events.count { if case .credentialRefused = $0 { true } else { false } } == 1)
    }

    @Test(arguments: [false, true]) func `The first accepted delivery ends the halt and the doubt`(_ halts: Bool) {
        let pool = refusedPool(usesTokens: !halts, halts: halts)
        _ = pool.take()
        pool.pass(.seconds(5))
        let id = pool.bringUp()[0]
        pool.hand(50)
        pool.accept(1, on: id)
        #expect(pool.state == .running && pool.nextTrial == nil)
        #expect(pool.events.contains(.credentialAccepted))
        #expect(pool.hand(49).reduce(0) { $0 + $1.count } == 49)
        pool.pass(.seconds(3600))
        #expect(pool.state == .running)
    }

    @Test func `A certificate that the push service rejects is tried again`() {
        let pool = PoolScript { $0.connects = .unlimited }
        pool.lookUps()
        pool.close(ConnectionID(1), .credential)
        for _ in 0..<10 {
            pool.pass(.seconds(46))
            let ids = pool.lookUps().map(\.id)
            #expect(ids.count == 1)
            pool.close(ids[0], .credential)
        }
        pool.pass(.seconds(46))
        // Without a waiting delivery the next one is the attempt.
        let id = pool.bringUp()[0]
        #expect(pool.credit == 1 && pool.nextTrial == .zero)
        pool.hand(1)
        #expect(pool.credit == 0)
        pool.accept(1, on: id)
        #expect(pool.state == .running && pool.credit > 1)
    }

    @Test func `An answer about a device is no proof, and lets the next delivery try at once`() {
        let pool = refusedPool(usesTokens: false, halts: true)
        pool.pass(.seconds(5))
        let id = pool.bringUp()[0]
        for _ in 0..<3 {
            #expect(pool.hand(10).map(\.count) == [1])
            pool.end(id) { $0.refused = 1 }
            #expect(pool.nextTrial == .zero)
        }
        #expect(pool.hand(10).map(\.count) == [1])
        pool.end(id) { $0.failed = 1 }
        #expect(pool.hand(10).isEmpty && (pool.nextTrial ?? .zero) > .zero)
    }

    @Test(arguments: [false, true]) func `An operator's attempt is made at once, also before the halt`(_ halts: Bool) {
        let pool = refusedPool(usesTokens: !halts, halts: halts)
        #expect(pool.lookUpsAsked.isEmpty)
        pool.input { $0.tryCredential(now: $1) }
        let id = pool.bringUp()[0]
        #expect(pool.hand(3).map(\.count) == [1])
        // While it is under way, there is no other.
        pool.input { $0.tryCredential(now: $1) }
        #expect(pool.hand(2).isEmpty && pool.lookUpsAsked.isEmpty)
        pool.accept(1, on: id)
        #expect(pool.hand(2).map(\.count) == [2])
    }

    @Test func `A newer token replaces the attempts with the refused one`() {
        let pool = refusedPool()
        pool.input { $0.tokenArrived(2, now: $1) }
        pool.bringUp()
        #expect(pool.nextTrial == nil && pool.hand(50).map(\.count) == [50])
    }

    @Test func `A paused app does not try its credential`() {
        let pool = refusedPool()
        pool.input { $0.setPaused(true, now: $1) }
        pool.pass(.seconds(50))
        pool.bringUp()
        #expect(pool.hand(10).isEmpty && pool.credit == 0)
        pool.input { $0.setPaused(false, now: $1) }
        #expect(pool.hand(10).map(\.count) == [1])
    }
}
