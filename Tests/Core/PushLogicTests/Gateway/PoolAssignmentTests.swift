import PushLogic
import PushModel
import PushTime
import Testing

@Suite struct PoolAssignmentTests {
    @Test(arguments: [(1, 2), (8, 16), (16, 32), (40, 56), (100, 125), (1000, 1250), (0, 0)])
    func `A connection gets deliveries for its streams and a prefetch`(_ limit: Int, _ expected: Int) {
        let pool = PoolScript()
        pool.bringUp(limit: limit)
        #expect(pool.credit == expected)
        #expect(pool.hand(10_000).map(\.count) == (expected == 0 ? [] : [expected]))
        #expect(pool.credit == 0)
    }

    @Test func `Deliveries are spread evenly, and the emptiest connection is filled first`() {
        let pool = PoolScript { $0.minimum = 3 }
        let ids = pool.bringUp()
        #expect(pool.hand(31).map(\.count).sorted() == [10, 10, 11])
        pool.accept(10, on: ids[0])
        #expect(pool.hand(9).allSatisfy { $0.connection == ids[0] })
    }

    @Test func `Single deliveries rotate among the connections`() {
        let pool = PoolScript { $0.minimum = 3 }
        let ids = pool.bringUp()
        var seen: Set<ConnectionID> = []
        for _ in 0..<6 {
            let assignments = pool.hand(1)
            #expect(assignments.count == 1)
            seen.insert(assignments[0].connection)
            pool.accept(1, on: assignments[0].connection)
        }
        #expect(seen == Set(ids))
    }

    @Test func `A raised limit admits more deliveries, and a lowered one none`() {
        let pool = PoolScript()
        let id = pool.bringUp(limit: 1)[0]
        #expect(pool.hand(500).map(\.count) == [2])
        pool.accept(1, on: id)
        pool.input { $0.limitChanged(id, to: 1000, now: $1) }
        #expect(pool.hand(498).map(\.count) == [498])
        // After an error Apple lowers the limit again (`Documentation/Protocols.md`, "TLS and connections"): nothing is
        // handed out or requested then.
        pool.input { $0.limitChanged(id, to: 1, now: $1) }
        #expect(pool.hand(5).isEmpty)
        #expect(pool.credit == 0)
    }

    @Test func `Credit is the room of the connections less the waiting deliveries`() {
        let pool = PoolScript()
        #expect(pool.credit == 64)
        let id = pool.bringUp()[0]
        #expect(pool.credit == 125)
        pool.hand(100)
        #expect(pool.credit == 25)
        pool.waiting = 20
        #expect(pool.credit == 5)
        pool.waiting = 40
        #expect(pool.credit == 0)
        pool.accept(100, on: id)
        pool.waiting = 0
        #expect(pool.credit == 125)
    }

    @Test func `A gateway that finishes sends a delivery again that the last answer returned`() {
        let pool = PoolScript()
        let id = pool.bringUp()[0]
        pool.hand(1)
        pool.input { $0.finish(waiting: 0, now: $1) }
        // The delivery goes to the front of the queue, and nothing else is in flight.
        pool.input { machine, _ in
            machine.requeued(1)
            return []
        }
        pool.end(id) { $0.notProcessed = 1 }
        #expect(!pool.take().drains.contains(id))
        #expect(pool.hand(1).map(\.count) == [1])
        pool.accept(1, on: id)
        #expect(pool.take().drains == [id])
    }

    @Test func `A gateway that finishes sends what waits, and then drains every connection`() {
        let pool = PoolScript { $0.minimum = 2 }
        let ids = pool.bringUp()
        pool.hand(400)
        pool.input { [waiting = pool.waiting] in $0.finish(waiting: waiting, now: $1) }
        #expect(pool.state == .draining)
        #expect(pool.credit == 0)
        _ = pool.take()
        pool.accept(125, on: ids[0])
        #expect(pool.hand(pool.waiting).map(\.count) == [125])
        pool.accept(125, on: ids[0])
        #expect(pool.hand(pool.waiting).map(\.count) == [25])
        pool.accept(25, on: ids[0])
        #expect(pool.take().drains == [])
        pool.accept(125, on: ids[1])
        pool.hand(0)
        #expect(Set(pool.take().drains) == Set(ids))
        for id in ids { pool.close(id, .byUs) }
        #expect(pool.hasEnded)
    }
}
