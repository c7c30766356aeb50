import PushLogic
import PushModel
import PushTime
import Testing

@Suite struct PoolBreakerTests {
    private func open(_ pool: PoolScript) -> ConnectionID {
        let id = pool.bringUp()[0]
        pool.hand(100)
        pool.end(id) { $0.failed = 30 }
        return id
    }

    @Test func `Answers that mostly fail open it, and while it is open nothing is sent or asked for`() {
        let pool = PoolScript()
        let id = pool.bringUp()[0]
        pool.hand(100)
        pool.end(id) { $0.failed = 19 }
        #expect(pool.state == .running)
        pool.end(id) { $0.failed = 1 }
        guard case .paused(let pause, .failing(20, of: 20)) = pool.state else {
            Issue.record("\(pool.state)")
            return
        }
        #expect(pause <= .seconds(10) && pause >= .seconds(5))
        #expect(pool.credit == 0)
        #expect(pool.hand(50).isEmpty)
        // What is in flight still ends, and says nothing.
        pool.accept(20, on: id)
        #expect(pool.credit == 0)
    }

    @Test func `Failures among successes do not open it`() {
        let pool = PoolScript()
        let id = pool.bringUp()[0]
        for _ in 0..<20 {
            pool.hand(20)
            pool.end(id) {
                $0.accepted = 11
                $0.failed = 9
            }
        }
        #expect(pool.state == .running)
    }

    @Test func `One delivery tries: an answer closes it, a failure opens it for longer`() {
        let pool = PoolScript()
        let id = open(pool)
        pool.accept(70, on: id)
        pool.pass(.seconds(10))
        #expect(pool.state == .probing)
        pool.waiting = 0
        #expect(pool.credit == 1)
        #expect(pool.hand(50) == [.init(connection: id, count: 1)])
        #expect(pool.hand(49).isEmpty)
        pool.waiting = 0
        #expect(pool.credit == 0)
        pool.end(id) { $0.failed = 1 }
        guard case .paused(let pause, .probeFailed) = pool.state else {
            Issue.record("\(pool.state)")
            return
        }
        #expect(pause > .seconds(10) - .milliseconds(1))
        pool.pass(.seconds(20))
        pool.hand(49)
        // Not processed says nothing: the next one tries.
        pool.end(id) { $0.notProcessed = 1 }
        #expect(pool.hand(49).map(\.count) == [1])
        pool.end(id) { $0.refused = 1 }
        #expect(pool.state == .running)
        #expect(pool.events.contains(.breakerClosed))
        #expect(pool.hand(48).map(\.count) == [48])
    }

    @Test func `Attempts to connect that fail in a row open it, and one attempt tries`() {
        let pool = PoolScript { $0.connects = .unlimited }
        for _ in 0..<5 {
            let id = pool.lookUps()[0].id
            pool.close(id, .unreachable)
            if pool.failures < 5 { pool.pass(.seconds(60)) }
        }
        guard case .paused(_, .unreachable(attempts: 5)) = pool.state else {
            Issue.record("\(pool.state)")
            return
        }
        #expect(pool.credit == 0)
        pool.pass(.seconds(30))
        let begun = pool.bringUp()
        #expect(begun.count == 1)
        #expect(pool.hand(5).map(\.count) == [1])
        pool.accept(1, on: begun[0])
        #expect(pool.state == .running)
    }

    @Test func `Where other connections work, failing attempts do not open it`() {
        let pool = PoolScript {
            $0.connects = .unlimited
            $0.minimum = 2
        }
        let begun = pool.lookUps()
        pool.input { $0.ready(begun[0].id, limit: 10, now: $1) }
        pool.close(begun[1].id, .unreachable)
        for _ in 0..<10 {
            pool.pass(.seconds(60))
            for (id, _) in pool.lookUps() { pool.close(id, .unreachable) }
        }
        #expect(pool.state == .running)
        #expect(pool.hand(3).map(\.count) == [3])
    }

    @Test func `A service that names a time gets it`() {
        let pool = PoolScript()
        let id = pool.bringUp()[0]
        pool.hand(5)
        pool.end(id) {
            $0.failed = 1
            $0.pause = .seconds(120)
        }
        #expect(pool.state == .paused(for: .seconds(120), .asked))
        pool.pass(.seconds(119))
        #expect(pool.hand(1).isEmpty)
        pool.pass(.seconds(1))
        #expect(pool.hand(1).count == 1)
    }
}
