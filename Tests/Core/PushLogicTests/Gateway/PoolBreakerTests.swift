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

    @Test func `Mostly failing answers open the breaker, which stops sending and credit`() {
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
        // Deliveries in flight still end, and their answers change nothing.
        pool.accept(20, on: id)
        #expect(pool.credit == 0)
    }

    @Test func `While another node warns, one failure opens the breaker, and the warning alone does not`() {
        let pool = PoolScript()
        let id = pool.bringUp()[0]
        pool.hand(100)
        pool.accept(50, on: id)
        pool.input { $0.warn(.failing, until: $1 + .seconds(3), now: $1) }
        #expect(pool.state == .running)
        pool.end(id) {
            $0.accepted = 2
            $0.failed = 1
        }
        #expect(pool.state == .running)
        pool.pass(.seconds(3))
        pool.end(id) { $0.failed = 1 }
        #expect(pool.state == .running)
        pool.input { $0.warn(.failing, until: $1 + .seconds(3), now: $1) }
        pool.end(id) { $0.failed = 1 }
        guard case .paused(_, .failingForOthers(1, of: 1)) = pool.state else {
            Issue.record("\(pool.state)")
            return
        }
        // The node finds out by itself when the service works again, whatever the other one reports.
        pool.accept(1, on: id)
        pool.pass(.seconds(10))
        pool.input { $0.warn(.failing, until: $1 + .seconds(3), now: $1) }
        #expect(pool.state == .probing)
        pool.waiting = 0
        pool.hand(1)
        pool.accept(1, on: id)
        #expect(pool.state == .running)
    }

    @Test func `While another node warns, one failed attempt to connect opens the breaker, and attempts continue`() {
        let pool = PoolScript { $0.connects = .unlimited }
        pool.input { $0.warn(.failing, until: $1 + .seconds(60), now: $1) }
        let id = pool.lookUps()[0].id
        pool.close(id, .unreachable)
        guard case .paused(_, .unreachable(attempts: 1)) = pool.state else {
            Issue.record("\(pool.state)")
            return
        }
        pool.pass(.seconds(16))
        let next = pool.bringUp()[0]
        pool.hand(1)
        pool.accept(1, on: next)
        #expect(pool.state == .running)
    }

    @Test func `Failures among more successes do not open the breaker`() {
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

    @Test func `A probe closes the breaker with an answer, and opens it for longer with a failure`() {
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
        pool.end(id, devices: 50...50) { $0.failed = 1 }
        guard case .paused(let pause, .probeFailed) = pool.state else {
            Issue.record("\(pool.state)")
            return
        }
        #expect(pause > .seconds(10) - .milliseconds(1))
        pool.pass(.seconds(20))
        pool.hand(49)
        // A probe that was not processed shows nothing, so another delivery is the probe.
        pool.end(id) { $0.notProcessed = 1 }
        #expect(pool.hand(49).map(\.count) == [1])
        pool.end(id) { $0.refused = 1 }
        #expect(pool.state == .running)
        #expect(pool.events.contains(.breakerClosed))
        #expect(pool.hand(48).map(\.count) == [48])
    }

    private func cutOff(_ attempts: Int = 5) -> PoolScript {
        let pool = PoolScript { $0.connects = .unlimited }
        for attempt in 1...attempts {
            let id = pool.lookUps()[0].id
            pool.close(id, .unreachable)
            if attempt < attempts { pool.pass(.seconds(60)) }
        }
        return pool
    }

    @Test func `Failed attempts to connect open the breaker, and an answered PING closes it`() {
        let pool = cutOff()
        guard case .paused(let pause, .unreachable(attempts: 5)) = pool.state else {
            Issue.record("\(pool.state)")
            return
        }
        #expect(pause > .zero && pause <= .seconds(15))
        #expect(pool.credit == 0)
        pool.pass(.seconds(15))
        // The attempt is the probe: the connection gets no deliveries before it has answered.
        let begun = pool.lookUps()
        #expect(begun.count == 1)
        pool.input { $0.ready(begun[0].id, limit: 100, now: $1) }
        #expect(pool.hand(5).isEmpty)
        #expect(pool.credit == 0)
        pool.answerPings()
        #expect(pool.state == .running)
        #expect(pool.events.contains(.breakerClosed))
        #expect(pool.hand(5).map(\.count) == [5])
    }

    @Test func `However long an outage is, the next attempt is soon and within the budget`() {
        let pool = PoolScript { $0.connects.perMinute = 4 }
        var attempts = 0
        for _ in 0..<3600 {
            for (id, _) in pool.lookUps() {
                attempts += 1
                pool.close(id, .unreachable)
            }
            pool.pass(.seconds(1))
        }
        // The budget allows 8 at once and 4 a minute.
        #expect((230...248).contains(attempts), "\(attempts)")
        // Not every failure raises an event: only the first five do, and then those whose number is a power of two.
        let downs = pool.events.count { if case .down = $0 { true } else { false } }
        #expect(downs == 5 + 5)
        for _ in 0..<17 {
            if !pool.bringUp().isEmpty { break }
            pool.pass(.seconds(1))
        }
        #expect(pool.state == .running)
        #expect(pool.credit > 0)
    }

    @Test func `A peer that comes up and is silent counts as a failed attempt`() {
        let pool = cutOff()
        for _ in 0..<3 {
            pool.pass(.seconds(15))
            let (id, _) = pool.lookUps()[0]
            pool.input { $0.ready(id, limit: 100, now: $1) }
            #expect(pool.hand(5).isEmpty)
            pool.pass(.seconds(10))
            pool.close(id, .silent)
            guard case .paused(_, .unreachable) = pool.state else {
                Issue.record("\(pool.state)")
                return
            }
        }
        #expect(pool.failures == 8)
    }

    @Test func `A connection that lived for long without deliveries does not count as a failed attempt`() {
        let pool = PoolScript { $0.connects = .unlimited }
        for _ in 0..<20 {
            let id = pool.bringUp()[0]
            pool.pass(.seconds(3600))
            pool.close(id, .goAway, reason: "IdleTimeout")
            #expect(pool.failures == 0)
            #expect(pool.state == .running)
        }
        let id = pool.bringUp()[0]
        pool.pass(.seconds(1))
        pool.close(id, .lost)
        #expect(pool.failures == 1)
    }

    @Test func `Failures of one device do not open the breaker, and those of several do`() {
        let pool = PoolScript()
        let id = pool.bringUp()[0]
        for _ in 0..<10 {
            pool.hand(50)
            pool.end(id, devices: 7...7) { $0.failed = 50 }
        }
        #expect(pool.state == .running)
        pool.hand(50)
        pool.end(id, devices: 7...9) { $0.failed = 3 }
        guard case .paused(_, .failing) = pool.state else {
            Issue.record("\(pool.state)")
            return
        }
    }

    @Test func `A probe that fails for a known failing device is followed by another at once`() {
        let pool = PoolScript()
        let id = pool.bringUp()[0]
        pool.hand(100)
        pool.end(id, devices: 1...3) { $0.failed = 100 }
        pool.pass(.seconds(10))
        for _ in 0..<16 {
            #expect(pool.hand(10).map(\.count) == [1])
            pool.end(id, devices: 2...2) { $0.failed = 1 }
            #expect(pool.state == .probing)
        }
        #expect(pool.hand(10).map(\.count) == [1])
        pool.accept(1, on: id)
        #expect(pool.state == .running)
        // The number of further probes is limited, because all waiting deliveries may be of that kind.
        pool.hand(100)
        pool.end(id, devices: 1...3) { $0.failed = 100 }
        pool.pass(.seconds(10))
        for _ in 0..<17 {
            pool.hand(10)
            pool.end(id, devices: 2...2) { $0.failed = 1 }
        }
        guard case .paused(_, .probeFailed) = pool.state else {
            Issue.record("\(pool.state)")
            return
        }
    }

    @Test func `A cut-off gateway finishes at once if its owner wants that`() {
        let pool = cutOff()
        pool.input { $0.finish(waiting: 1, whenCutOff: true, now: $1) }
        #expect(pool.hasEnded)

        // Deliveries that can be sent are sent first, and those in flight are waited for.
        let other = PoolScript { $0.maximum = 1 }
        let id = other.bringUp()[0]
        other.hand(1)
        other.input { $0.finish(waiting: 1, whenCutOff: true, now: $1) }
        #expect(other.hand(1).map(\.count) == [1])
        other.close(id, .lost)
        #expect(!other.hasEnded)
        other.end(id) { $0.notProcessed = 2 }
        #expect(other.hasEnded)

        // Without `whenCutOff` the gateway continues to try.
        let third = cutOff()
        third.input { $0.finish(waiting: 1, now: $1) }
        #expect(!third.hasEnded)
    }

    @Test func `Failing attempts do not open the breaker while another connection works`() {
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

    @Test func `A Retry-After opens the breaker for that time`() {
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
