import PushLogic
import PushModel
import PushTime
import Testing

@Suite struct PoolFailureTests {
    @Test func `Failed attempts wait longer and longer, and an answer resets the delay`() {
        let pool = PoolScript {
            $0.connects = .unlimited
            $0.breaker.connectFailures = .max
        }
        var waits: [Double] = []
        for _ in 0..<8 {
            let id = pool.lookUps()[0].id
            pool.close(id, .unreachable)
            _ = pool.take()
            let next = pool.machine.nextDeadline(now: pool.now)
            waits.append(((next ?? pool.now) - pool.now).inSeconds)
            pool.pass(.seconds(waits[waits.count - 1]) + .milliseconds(1))
        }
        for (index, longest) in [1.0, 2, 4, 8, 15, 15, 15, 15].enumerated() {
            #expect(waits[index] <= longest && waits[index] >= longest / 2)
        }
        #expect(pool.failures == 8)
        let id = pool.bringUp()[0]
        #expect(pool.failures == 8)
        pool.hand(1)
        pool.accept(1, on: id)
        #expect(pool.failures == 0)
        pool.close(id, .lost)
        #expect(pool.take().lookUps.count == 1)
    }

    /// A protocol without answers ends a connection for each delivery that it refuses.
    @Test(arguments: [ConnectionEnd.Kind.errorPacket, .goAway])
    func `A connection that was of use and ended with an error packet costs nothing`(_ kind: ConnectionEnd.Kind) {
        let pool = PoolScript { $0.connects.perMinute = 1 }
        var made = 0
        for _ in 0..<100 {
            guard let id = pool.bringUp().first else { break }
            made += 1
            pool.hand(2)
            pool.end(id) {
                $0.accepted = 1
                $0.refused = 1
            }
            pool.close(id, kind)
        }
        #expect(kind == .errorPacket ? made == 100 : made < 10)
    }

    @Test func `While attempts fail, only one at a time is made`() {
        let pool = PoolScript { $0.minimum = 4 }
        let begun = pool.lookUps()
        for (id, _) in begun { pool.close(id, .unreachable) }
        pool.pass(.seconds(60))
        #expect(pool.take().lookUps.count == 1)
    }

    @Test func `A failed look-up counts as a failed attempt`() {
        let pool = PoolScript()
        let id = pool.take().lookUps[0]
        let fault = ConnectionFault(.nameNotFound, sentence: "no such host")
        pool.input { $0.lookUpFailed(fault, for: id, now: $1) }
        #expect(pool.failures == 1)
        #expect(
            pool.events == [
                .down(id, address: nil, ConnectionEnd(.unreachable, fault: fault), age: .zero, answered: 0)
            ])
    }

    @Test func `The family that the resolver names first is used, and the other one while all of it fails`() {
        for seed in UInt64(1)...20 {
            let pool = PoolScript(seed: seed) {
                $0.connects = .unlimited
                $0.minimum = 2
            }
            pool.addresses = ["192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2"]
            let first = pool.lookUps()
            #expect(Set(first.map(\.address)) == ["192.0.2.1", "192.0.2.2"])
            for (id, _) in first { pool.close(id, .unreachable) }
            pool.pass(.seconds(2))
            #expect(pool.lookUps().allSatisfy { $0.address.hasPrefix("2001:db8::") })
        }
    }

    @Test func `An address that went silent is avoided, even if it had answered before`() {
        let pool = PoolScript { $0.connects = .unlimited }
        for _ in 0..<20 {
            let (id, address) = pool.lookUps()[0]
            pool.input { $0.ready(id, limit: 10, now: $1) }
            if address == "10.0.0.2" {
                pool.hand(1)
                pool.accept(1, on: id)
                pool.close(id, .lost)
                continue
            }
            pool.hand(1)
            pool.accept(1, on: id)
            pool.close(id, .silent)
            // From now on the other address is always chosen.
            for _ in 0..<5 {
                let (next, other) = pool.lookUps()[0]
                #expect(other == "10.0.0.2")
                pool.input { $0.ready(next, limit: 10, now: $1) }
                pool.hand(1)
                pool.accept(1, on: next)
                pool.close(next, .lost)
            }
            return
        }
        Issue.record("the first address was never chosen")
    }

    @Test func `If all addresses are in quarantine, the one that is free first is used`() {
        let pool = PoolScript {
            $0.connects = .unlimited
            $0.breaker.connectFailures = .max
        }
        pool.addresses = ["10.0.0.1", "10.0.0.2"]
        let first = pool.lookUps()[0]
        pool.close(first.id, .unreachable)
        pool.pass(.seconds(1))
        let second = pool.lookUps()[0]
        #expect(second.address != first.address)
        pool.close(second.id, .unreachable)
        pool.pass(.seconds(2))
        #expect(pool.lookUps().count == 1)
    }

    @Test func `The connect budget applies to every reason to connect`() {
        let pool = PoolScript {
            $0.maximum = 2
            $0.minimum = 2
            $0.connects.perMinute = 3
        }
        // The service ends each connection after its first answer, which is not a failure.
        var begun = 0
        var last: [ConnectionID] = []
        for _ in 0..<600 {
            for id in pool.bringUp() {
                begun += 1
                last.append(id)
            }
            pool.hand(last.count)
            for id in last {
                pool.accept(1, on: id)
                pool.goAway(id)
                pool.close(id, .goAway)
            }
            last = []
            pool.pass(.seconds(1))
        }
        // The budget allows 4 at once and 3 a minute, for ten minutes.
        #expect((30...34).contains(begun))
    }

    @Test func `A connection with a GOAWAY drains while a new one is opened`() {
        let pool = PoolScript { $0.maximum = 1 }
        let first = pool.bringUp()[0]
        pool.hand(10)
        _ = pool.take()
        pool.goAway(first, reason: "Shutdown")
        let actions = pool.take()
        #expect(actions.drains == [first])
        #expect(actions.lookUps.count == 1)
        #expect(
            actions.contains(.raise(.goAway(first, address: pool.addresses[0], reason: .init(rawValue: "Shutdown"))))
                || actions.contains(
                    .raise(.goAway(first, address: pool.addresses[1], reason: .init(rawValue: "Shutdown"))))
        )
        #expect(pool.hand(5).isEmpty)
    }

    @Test(arguments: [true, false]) func `A connection that takes no more deliveries is replaced`(_ byItself: Bool) {
        let pool = PoolScript { $0.maximum = 1 }
        let first = pool.bringUp()[0]
        pool.hand(2)
        _ = pool.take()
        if byItself {
            pool.input { $0.retiring(first, now: $1) }
        } else {
            pool.end(first) {
                $0.failed = 1
                $0.asksForAnother = true
            }
        }
        let actions = pool.take()
        #expect(actions.drains == [first])
        #expect(actions.lookUps.count == 1)
    }

    @Test func `Deliveries on a closed connection still come back, and its slot remains until then`() {
        let pool = PoolScript { $0.maximum = 1 }
        let first = pool.bringUp()[0]
        pool.hand(7)
        pool.accept(3, on: first)
        pool.close(first, .lost)
        #expect(pool.outstanding == 4)
        #expect(pool.bringUp().count == 1)
        pool.end(first) { $0.notProcessed = 4 }
        #expect(pool.outstanding == 0)
        #expect(pool.hand(4).map(\.count) == [4])
    }
}
