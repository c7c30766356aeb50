import PushLogic
import PushModel
import Testing

@Suite struct PoolNumberTests {
    @Test func `The minimum of connections is opened at once and spread over the addresses`() {
        let pool = PoolScript { $0.minimum = 4 }
        let begun = pool.lookUps()
        #expect(begun.count == 4)
        #expect(begun.count { $0.address == "10.0.0.1" } == 2)
        #expect(begun.count { $0.address == "10.0.0.2" } == 2)
    }

    @Test func `Connections that stay busy get another one, one at a time`() {
        let pool = PoolScript { $0.maximum = 3 }
        let first = pool.bringUp()[0]
        pool.hand(200)
        pool.accept(100, on: first)
        pool.hand(200)
        pool.pass(.milliseconds(1999))
        #expect(pool.take().lookUps == [])
        pool.pass(.milliseconds(1))
        #expect(pool.events.contains(.scaled(.busy, connections: 2, minimum: 1, maximum: 3)))
        // The third connection waits until the second is up and has answered, and all have been busy for as long again.
        let second = pool.bringUp()[0]
        pool.hand(1000)
        pool.pass(.seconds(10))
        #expect(pool.take().lookUps == [])
        pool.accept(1, on: second)
        pool.hand(1000)
        pool.pass(.seconds(2))
        #expect(pool.take().lookUps.count == 1)
    }

    @Test func `A short dip between batches does not end a busy time`() {
        let pool = PoolScript()
        let first = pool.bringUp()[0]
        pool.hand(125)
        pool.accept(60, on: first)
        pool.hand(0)
        pool.pass(.seconds(1))
        pool.hand(60)
        pool.pass(.seconds(1))
        #expect(pool.take().lookUps.count == 1)
    }

    @Test func `A short busy time does not add a connection, and the maximum is never exceeded`() {
        let pool = PoolScript { $0.maximum = 1 }
        let first = pool.bringUp()[0]
        pool.hand(200)
        pool.accept(125, on: first)
        pool.hand(200)
        pool.pass(.seconds(60))
        #expect(pool.take().lookUps == [])

        let calm = PoolScript()
        let one = calm.bringUp()[0]
        calm.hand(125)
        calm.pass(.seconds(1))
        calm.accept(125, on: one)
        calm.hand(0)
        calm.pass(.seconds(60))
        #expect(calm.take().lookUps == [])
    }

    @Test func `Connections that have been quiet for long drain, down to the minimum`() {
        let pool = PoolScript { $0.minimum = 1 }
        pool.input { $0.scale(minimum: 3, maximum: 3, now: $1) }
        let all = pool.bringUp()
        pool.input { $0.scale(minimum: 1, maximum: 3, now: $1) }
        pool.hand(0)
        _ = pool.take()
        pool.pass(.seconds(1799))
        #expect(pool.take().drains == [])
        pool.pass(.seconds(1))
        // Among equals the youngest connection drains.
        #expect(pool.take().drains == [all[2]])
        pool.close(all[2], .byUs)
        pool.hand(0)
        pool.pass(.seconds(1800))
        #expect(pool.take().drains == [all[1]])
        pool.close(all[1], .byUs)
        pool.hand(0)
        pool.pass(.seconds(7200))
        #expect(pool.take().drains == [])
        #expect(pool.wanted == 1)
    }

    @Test func `Scaling drains surplus connections and opens missing ones at once`() {
        let pool = PoolScript()
        let first = pool.bringUp()[0]
        pool.input { $0.scale(minimum: 6, maximum: 8, now: $1) }
        let others = pool.bringUp()
        #expect(others.count == 5)
        pool.accept(0, on: first)
        _ = pool.take()
        pool.hand(6)
        pool.accept(1, on: others[0])
        pool.input { $0.scale(minimum: 1, maximum: 2, now: $1) }
        let drained = pool.take().drains
        // The connection without deliveries drains first.
        #expect(drained.count == 4 && drained.first == others[0])
    }

    @Test func `With a minimum of 0 the first delivery opens a connection`() {
        let pool = PoolScript { $0.minimum = 0 }
        #expect(pool.take().isEmpty)
        #expect(pool.credit == 64)
        pool.hand(3)
        #expect(pool.bringUp().count == 1)
        #expect(pool.hand(3).map(\.count) == [3])
        #expect(pool.take().drains == [])
    }

    @Test func `A surplus attempt to connect is given up first`() {
        let pool = PoolScript { $0.minimum = 2 }
        let begun = pool.lookUps()
        pool.input { $0.ready(begun[1].id, limit: 10, now: $1) }
        _ = pool.take()
        pool.input { $0.scale(minimum: 1, maximum: 1, now: $1) }
        #expect(pool.take().closes == [begun[0].id])
        // Its end does not count as a failure.
        pool.close(begun[0].id, .byUs)
        #expect(pool.failures == 0)
    }

    @Test func `A connection that drains for too long is closed`() {
        let pool = PoolScript()
        let first = pool.bringUp()[0]
        pool.hand(10)
        pool.goAway(first)
        pool.pass(.seconds(89))
        #expect(!pool.take().closes.contains(first))
        pool.pass(.seconds(1))
        #expect(pool.take().closes == [first])
    }

    @Test func `A changed connect rate applies at once, and saved tokens remain`() {
        let pool = PoolScript {
            $0.minimum = 1
            $0.maximum = 1
            $0.connects.burst = 2
            $0.connects.perMinute = 1
            $0.breaker.connectFailures = 100
            $0.reconnect = Backoff(first: .milliseconds(1), maxDelay: .milliseconds(1))
        }
        // Two tokens are saved up, and the next one comes after a minute.
        for _ in 0..<2 {
            pool.pass(.milliseconds(2))
            for (id, _) in pool.lookUps() { pool.close(id, .unreachable) }
        }
        pool.pass(.seconds(10))
        #expect(pool.lookUps().isEmpty)
        pool.input { $0.pace(connectsPerMinute: 60, shrinkAfter: .seconds(1), now: $1) }
        pool.pass(.seconds(1))
        let third = pool.lookUps()
        #expect(third.count == 1)
        for (id, _) in third { pool.close(id, .unreachable) }
        pool.input { $0.pace(connectsPerMinute: nil, shrinkAfter: .seconds(1), now: $1) }
        for _ in 0..<20 {
            pool.pass(.milliseconds(2))
            for (id, _) in pool.lookUps() { pool.close(id, .unreachable) }
        }
        #expect(pool.failures > 10)
    }

    @Test func `A shorter idle time applies to a running gateway`() {
        let pool = PoolScript { $0.maximum = 2 }
        pool.input { $0.scale(minimum: 2, maximum: 2, now: $1) }
        let both = pool.bringUp()
        pool.input { $0.scale(minimum: 1, maximum: 2, now: $1) }
        for id in both {
            pool.hand(10)
            pool.accept(1, on: id)
        }
        pool.pass(.seconds(600))
        #expect(pool.wanted == 2)
        pool.input { $0.pace(connectsPerMinute: nil, shrinkAfter: .seconds(60), now: $1) }
        pool.pass(.seconds(61))
        #expect(pool.wanted == 1)
    }
}
