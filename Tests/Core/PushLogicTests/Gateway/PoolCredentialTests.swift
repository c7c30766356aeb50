import PushLogic
import PushModel
import PushTime
import Testing

@Suite struct PoolCredentialTests {
    enum Cause: CaseIterable {
        case answer, goAway, end, endWithReason
    }

    private func halt(_ pool: PoolScript, _ id: ConnectionID, by cause: Cause) {
        switch cause {
        case .answer:
            pool.end(id) {
                $0.refused = 1
                $0.halt = GatewayHalt(.refused, message: "scripted")
            }
        case .goAway: pool.goAway(id, reason: "BadCertificate", disposition: .halt)
        case .end:
            pool.end(id) { $0.notProcessed = 4 }
            pool.close(id, .credential)
        case .endWithReason:
            pool.end(id) { $0.notProcessed = 4 }
            pool.close(id, .goAway, reason: "BadCertificate", disposition: .halt)
        }
    }

    @Test(arguments: Cause.allCases) func `A halted gateway drains, makes one connection, and takes a new credential`(
        _ cause: Cause
    ) {
        let pool = PoolScript { $0.minimum = 2 }
        let ids = pool.bringUp()
        pool.hand(8)
        _ = pool.take()
        halt(pool, ids[0], by: cause)
        guard case .halted = pool.state else {
            Issue.record("\(pool.state)")
            return
        }
        #expect(pool.credit == 0)
        #expect(pool.events.contains { if case .credentialFailed = $0 { true } else { false } })
        #expect(pool.take().drains.contains(ids[1]))
        #expect(pool.hand(10).isEmpty)
        pool.pass(.seconds(86400))
        pool.input { $0.scale(minimum: 3, maximum: 4, now: $1) }
        #expect(pool.take().lookUps.count == 1)

        pool.input { $0.credentialChanged(usesTokens: false, now: $1) }
        #expect(pool.events == [.credentialRotated])
        #expect(pool.bringUp().count == 3)
        #expect(pool.hand(10).count == 3)
    }

    @Test func `After a rotation old connections work until new ones are up, and cannot halt the gateway`() {
        let pool = PoolScript { $0.minimum = 2 }
        let old = pool.bringUp()
        _ = pool.take()
        pool.input { $0.credentialChanged(usesTokens: false, now: $1) }
        #expect(pool.take().drains == [])
        #expect(Set(pool.hand(20).map(\.connection)) == Set(old))
        // A refusal on an old connection drains it and halts nothing.
        pool.end(old[0]) {
            $0.refused = 1
            $0.halt = GatewayHalt(.refused, message: "revoked")
        }
        #expect(pool.state == .running)
        #expect(pool.take().drains == [old[0]])
    }

    @Test func `After a rotation each new connection replaces an old one`() {
        let pool = PoolScript { $0.minimum = 2 }
        let old = pool.bringUp()
        pool.input { $0.credentialChanged(usesTokens: false, now: $1) }
        let new = pool.lookUps().map(\.id)
        #expect(new.count == 2)
        _ = pool.take()
        pool.input { $0.ready(new[0], limit: 100, now: $1) }
        #expect(pool.take().drains.count == 1)
        pool.input { $0.ready(new[1], limit: 100, now: $1) }
        #expect(pool.take().drains.count == 1)
        #expect(Set(pool.hand(20).map(\.connection)) == Set(new))
        for id in old { pool.close(id, .byUs) }
        #expect(pool.take().lookUps == [])
    }

    @Test func `Nothing connects before a token arrives, and a failing token source halts the gateway`() {
        let pool = PoolScript(usesTokens: true)
        #expect(pool.take().isEmpty)
        pool.input { $0.tokenFailed("no key", now: $1) }
        #expect(pool.state == .halted(GatewayHalt(.providerToken, message: "no key")))
        pool.input { $0.tokenArrived(1, now: $1) }
        #expect(pool.state == .running)
        #expect(pool.bringUp().count == 1)
    }

    private func rotate(_ pool: PoolScript) -> ConnectionID {
        pool.input { $0.tokenArrived(1, now: $1) }
        let old = pool.bringUp()[0]
        _ = pool.take()
        pool.input { $0.credentialChanged(usesTokens: true, now: $1) }
        pool.input { $0.tokenFailed("503", now: $1) }
        return old
    }

    @Test func `While a new credential has no token, the connections of the one before send`() {
        let pool = PoolScript(usesTokens: true)
        let old = rotate(pool)
        #expect(pool.state == .running && pool.credit > 0)
        let missing = GatewayHalt(.providerToken, message: "503")
        #expect(pool.events == [.credentialRotated, .tokenFailed(missing)])
        #expect(pool.take().drains == [])
        pool.input { $0.tokenFailed("503", now: $1) }
        #expect(pool.take().isEmpty)
        #expect(pool.hand(5).map(\.connection) == [old])
        pool.accept(5, on: old)
        pool.input { $0.tokenArrived(2, now: $1) }
        #expect(pool.events == [.credentialRotated])
        let new = pool.bringUp()
        #expect(new.count == 1 && pool.take().drains == [old])
        #expect(pool.hand(5).map(\.connection) == new)
        pool.close(old, .byUs)
        #expect(pool.state == .running)
    }

    @Test(arguments: [true, false])
    func `Without a token for the new credential, a gateway halts when the last connection of the one before is gone`(
        isRefused: Bool
    ) {
        let pool = PoolScript(usesTokens: true)
        let old = rotate(pool)
        if isRefused {
            pool.hand(1)
            pool.end(old) {
                $0.refused = 1
                $0.refusedToken = 1
                $0.asksForAnother = true
            }
        } else {
            pool.close(old, .lost)
        }
        #expect(pool.state == .halted(GatewayHalt(.providerToken, message: "503")))
        pool.input { $0.tokenArrived(2, now: $1) }
        #expect(pool.state == .running && pool.bringUp().count == 1)
    }

    @Test func `An expired token is renewed once, and its connections are replaced after that`() {
        let pool = PoolScript(usesTokens: true) { $0.minimum = 2 }
        pool.input { $0.tokenArrived(7, now: $1) }
        let ids = pool.bringUp()
        pool.hand(20)
        _ = pool.take()
        pool.pass(.seconds(10))
        #expect(pool.token(of: ids[0], leftAt: pool.now) == 7)
        for id in ids {
            pool.end(id) {
                $0.refused = 1
                $0.refusedToken = 7
                $0.asksForAnother = true
            }
        }
        let actions = pool.take()
        #expect(actions.count { $0 == .renewToken(refused: 7) } == 1)
        #expect(actions.drains == ids)
        #expect(actions.lookUps == [])
        pool.input { $0.tokenArrived(8, now: $1) }
        #expect(pool.take().lookUps.count == 2)
    }

    @Test func `Open connections get a new token, and a late refusal concerns the old one`() {
        let pool = PoolScript(usesTokens: true)
        pool.input { $0.tokenArrived(1, now: $1) }
        let id = pool.bringUp()[0]
        pool.hand(5)
        pool.pass(.seconds(3000))
        let sent = pool.now
        _ = pool.take()
        pool.input { $0.tokenArrived(2, now: $1) }
        #expect(pool.take() == [.useToken(id)])
        #expect(pool.token(of: id, leftAt: sent) == 1)
        pool.pass(.seconds(5))
        #expect(pool.token(of: id, leftAt: pool.now) == 2)
        pool.end(id) {
            $0.refused = 1
            $0.refusedToken = 1
            $0.asksForAnother = true
        }
        let actions = pool.take()
        #expect(!actions.contains(.renewToken(refused: 1)))
        #expect(actions.drains == [id] && actions.lookUps.count == 1)
    }

    @Test func `A gateway halts if no newer token arrives after a refusal`() {
        let pool = PoolScript(usesTokens: true)
        pool.input { $0.tokenArrived(1, now: $1) }
        let id = pool.bringUp()[0]
        pool.hand(1)
        pool.end(id) {
            $0.refused = 1
            $0.refusedToken = 1
        }
        pool.pass(.seconds(60))
        guard case .halted(let halt) = pool.state else {
            Issue.record("\(pool.state)")
            return
        }
        #expect(halt.kind == .providerToken)
    }

    @Test func `A gateway halts after two connections ended because of an invalid token`() {
        let pool = PoolScript(usesTokens: true)
        pool.input { $0.tokenArrived(1, now: $1) }
        pool.goAway(pool.bringUp()[0], reason: "InvalidProviderToken", disposition: .renewTokenOnce)
        #expect(pool.take().contains(.renewToken(refused: 1)))
        pool.input { $0.tokenArrived(2, now: $1) }
        pool.goAway(pool.bringUp()[0], reason: "InvalidProviderToken", disposition: .renewTokenOnce)
        guard case .halted = pool.state else {
            Issue.record("\(pool.state)")
            return
        }
    }

    @Test func `With the report of another node, one connection that ended is enough, and none is not`() {
        let pool = PoolScript(usesTokens: true)
        pool.input { $0.tokenArrived(1, now: $1) }
        let id = pool.bringUp()[0]
        pool.input { $0.warn(.refused, until: $1 + .seconds(3), now: $1) }
        #expect(pool.state == .running)
        pool.hand(1)
        pool.accept(1, on: id)
        #expect(pool.state == .running)
        pool.goAway(id, reason: "InvalidProviderToken", disposition: .renewTokenOnce)
        guard case .halted(let halt) = pool.state else {
            Issue.record("\(pool.state)")
            return
        }
        #expect(halt.reason?.rawValue == "InvalidProviderToken")
    }

    @Test func `A report that is not repeated ends`() {
        let pool = PoolScript(usesTokens: true)
        pool.input { $0.tokenArrived(1, now: $1) }
        let id = pool.bringUp()[0]
        pool.input { $0.warn(.refused, until: $1 + .seconds(3), now: $1) }
        pool.pass(.seconds(3))
        pool.goAway(id, reason: "InvalidProviderToken", disposition: .renewTokenOnce)
        #expect(pool.state == .running)
    }

    @Test func `Two GOAWAYs of a connection count once, unless the second one asks to halt`() {
        let pool = PoolScript(usesTokens: true)
        pool.input { $0.tokenArrived(1, now: $1) }
        let id = pool.bringUp()[0]
        pool.goAway(id, reason: "InvalidProviderToken", disposition: .renewTokenOnce)
        pool.goAway(id, reason: "InvalidProviderToken", disposition: .renewTokenOnce)
        pool.close(id, .goAway, reason: "InvalidProviderToken", disposition: .renewTokenOnce)
        #expect(pool.state == .running)
        pool.input { $0.tokenArrived(2, now: $1) }
        pool.pass(.seconds(1))
        let other = pool.bringUp()[0]
        pool.goAway(other)
        #expect(pool.state == .running)
        pool.goAway(other, reason: "BadCertificate", disposition: .halt)
        guard case .halted = pool.state else {
            Issue.record("\(pool.state)")
            return
        }
    }

    @Test func `The end of an old connection does not halt the new credential`() {
        let pool = PoolScript { $0.minimum = 3 }
        let old = pool.bringUp()
        pool.input { $0.credentialChanged(usesTokens: false, now: $1) }
        pool.goAway(old[0], reason: "BadCertificate", disposition: .halt)
        pool.close(old[1], .goAway, reason: "BadCertificate", disposition: .halt)
        pool.close(old[2], .credential)
        #expect(pool.state == .running)
        #expect(pool.bringUp().count == 3)
    }
}
