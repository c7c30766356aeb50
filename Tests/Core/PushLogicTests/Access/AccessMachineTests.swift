import PushModel
import PushTime
import TestSupport
import TestTraits
import Testing

@testable import PushLogic

/// Tests of floods, bounds and clocks, where single requests are decided.
@Suite(.waits) struct AccessMachineTests {
    @Test func `An address with too many failures is refused unheard, and may try again later`() {
        var desk = AccessDesk()
        for number in 0..<20 { #expect(desk.send(number, isAuthentic: false) == .wrongSignature) }
        #expect(desk.send(20) == .tooManyFailures)
        // Another address is not concerned.
        #expect(desk.send(21, from: 2) == nil)
        desk.wait(.seconds(3))
        #expect(desk.send(22) == nil)
        #expect(desk.send(23, isAuthentic: false) == .wrongSignature)
        // The address is now known to the key's owner, and its secret is checked even without credit for failures.
        #expect(desk.send(24, isAuthentic: false) == .wrongSignature)
        #expect(desk.send(25) == nil)
    }

    @Test func `Failures from many addresses do not lock out the owner of a key`() {
        var desk = AccessDesk()
        var answered = 0
        for number in 0..<20_000 where desk.send(number, isAuthentic: false, from: 100 + number) == .wrongSignature {
            answered += 1
        }
        // Beyond the limit of the key, failures are answered 429.
        #expect(answered == 100)
        #expect(desk.send(1, from: 50_000) == nil)
        #expect(desk.send(2, from: 1) == nil)
    }

    @Test func `Strangers behind the owner's proxy do not lock it out`() {
        var desk = AccessDesk(keys: [AccessDesk.key(1), AccessDesk.key(2)])
        #expect(desk.send(1) == nil)
        for number in 0..<1000 { _ = desk.send(number, key: 2, isAuthentic: false) }
        #expect(desk.send(1001, key: 2) == .tooManyFailures)
        #expect(desk.send(1002) == nil)
        for number in 0..<1000 { #expect(desk.send(number + 2000, isAuthentic: false) != nil) }
        #expect(desk.send(4000) == nil)
    }

    @Test func `A flood of failures prolongs no wait without end`() {
        var desk = AccessDesk()
        #expect(desk.send(0) == nil)
        for number in 0..<100_000 { _ = desk.send(number, isAuthentic: false) }
        desk.wait(.seconds(60))
        let refusal = desk.machine.admit(AccessDesk.id(9), from: AccessDesk.address(1), at: desk.now)
        #expect(refusal == nil)
    }

    @Test func `The table of addresses is bounded`() {
        var policy = AccessPolicy()
        policy.maxAddresses = 64
        var desk = AccessDesk(policy)
        for round in 0..<30 {
            for number in 0..<640 { _ = desk.send(round, isAuthentic: false, from: number) }
        }
        // An address whose failures are remembered is refused; one whose failures were forgotten is heard.
        var refused = 0
        for number in 0..<640 where desk.machine.admit(nil, from: AccessDesk.address(number), at: desk.now) != nil {
            refused += 1
        }
        #expect(refused <= 64)
        let table = FailureTable(maxAddresses: 1_000_000_000, key: (1, 2))
        #expect(table.capacity == 1 << 20)
    }

    @Test func `At ten times the bound of nonces, none is accepted twice`() {
        var policy = AccessPolicy()
        policy.maxNonces = 1000
        var desk = AccessDesk(policy)
        var accepted: [(nonce: Int, created: Int64)] = []
        for nonce in 0..<10_000 {
            if nonce % 50 == 0 { desk.wait(.seconds(1)) }
            if desk.send(nonce) == nil { accepted.append((nonce, desk.wall.seconds)) }
            #expect(desk.machine.nonceCount <= 1000)
        }
        #expect(accepted.count == 10_000)
        for (nonce, created) in accepted {
            let reason = desk.send(nonce, created: created, from: nonce)
            #expect(reason == .replayed || reason == .clockSkew)
        }
    }

    @Test func `A second that exceeds the bound is refused, and not accepted twice`() {
        var policy = AccessPolicy()
        policy.maxNonces = 100
        var desk = AccessDesk(policy)
        var accepted = 0
        for nonce in 0..<1000 where desk.send(nonce) == nil { accepted += 1 }
        #expect(accepted == 100)
        desk.wait(.seconds(1))
        for nonce in 0..<1000 { #expect(desk.send(nonce, created: desk.wall.seconds - 1, from: nonce) != nil) }
        #expect(desk.send(5000) == nil)
    }

    @Test func `A key with many nonces does not shorten the memory of another one`() {
        var policy = AccessPolicy()
        policy.maxNonces = 1000
        var desk = AccessDesk(policy, keys: [AccessDesk.key(1), AccessDesk.key(2)])
        #expect(desk.send(0, key: 2) == nil)
        for nonce in 0..<10_000 {
            if nonce % 100 == 0 { desk.wait(.seconds(1)) }
            #expect(desk.send(nonce, created: desk.wall.seconds + 200) == nil || nonce % 100 != 0)
        }
        // A request of the second key that was created before all that is still accepted.
        #expect(desk.send(1, created: AccessDesk.start.value, key: 2) == nil)
    }

    @Test func `A clock that jumps ahead and back refuses only what was used`() {
        var desk = AccessDesk()
        let first = desk.wall.seconds
        #expect(desk.send(1) == nil)
        desk.wall = desk.wall + .seconds(86_400 * 365)
        #expect(desk.send(2) == nil)
        desk.wall = desk.wall - .seconds(86_400 * 365)
        #expect(desk.send(1, created: first) != nil)
        #expect(desk.send(3, created: first) == .clockSkew)
        desk.wait(.seconds(1))
        #expect(desk.send(4) == nil)
        desk.wall = desk.wall - .seconds(86_400)
        #expect(desk.send(5) == .clockSkew)
    }

    @Test func `A nonce may not be used with another time within the window`() {
        var desk = AccessDesk()
        #expect(desk.send(1) == nil)
        desk.wait(.seconds(200))
        #expect(desk.send(1) == .replayed)
        desk.wait(.seconds(101))
        #expect(desk.send(1) == nil)
    }

    @Test func `Times at the ends of their range never trap`() {
        for wall in [WallTime.distantPast, .distantFuture, WallTime(milliseconds: 0), WallTime(milliseconds: -1)] {
            for created in [Int64.min, .max, 0, -999_999_999_999_999, 999_999_999_999_999] {
                for monotonic in [Int64.min, .max, 0] {
                    var desk = AccessDesk(keys: [AccessDesk.key(1, rate: 1), AccessDesk.key(2, rate: 1_000_000)])
                    desk.wall = wall
                    desk.monotonic = MonotonicTime(nanoseconds: monotonic)
                    for key in 1...2 {
                        _ = desk.send(1, created: created, key: key)
                        _ = desk.send(2, key: key, isAuthentic: false)
                    }
                }
            }
        }
    }

    @Test func `A key that is forgotten takes its nonces along`() {
        var desk = AccessDesk(keys: [AccessDesk.key(1), AccessDesk.key(2)])
        for nonce in 0..<100 { _ = desk.send(nonce, key: 1 + nonce % 2) }
        #expect(desk.machine.nonceCount == 100)
        #expect(desk.machine.replaceKeys([AccessDesk.key(2)], at: desk.wall) == [AccessDesk.id(1)])
        #expect(desk.machine.nonceCount == 50)
        #expect(desk.send(1, key: 2) == .replayed)
        #expect(desk.send(500, key: 1) == .unknownKey)
    }
}
