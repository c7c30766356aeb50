import PushLoop
import PushModel
import PushPipeline
import TestSupport
import Testing

/// Tests of many waiting messages: they are on disk, and each takes eight bytes of memory.
@Suite struct RouterSpillTests {
    @Test func `A hundred thousand messages wait in little memory, and all of them go out`() async {
        let world = RouterWorld()
        world.ledger.state.withLock {
            $0.keepsRecords = false
            $0.make = { [unowned world] in world.single($0) }
        }
        await world.open(credit: 0)
        let count: UInt64 = 100_000
        var next: UInt64 = 1
        func accept(until end: UInt64) async {
            while next <= end {
                let last = min(next + 4999, end)
                world.router.accepted((next...last).map { world.single($0) })
                next = last + 1
                await world.settle()
            }
        }
        await accept(until: count)
        #expect(world.router.unfinished == Int(count))
        let status = await world.router.status()
        #expect(status.loaded <= 20_000)
        // The bytes are counted and not measured, because other tests share the memory. The benchmark measures them.
        #expect(status.spilledBytes < 9 * (Int(count) - status.loaded))

        while world.ledger.state.withLock({ $0.completedCount }) < Int(count) {
            world.router.report(world.gate.report(credit: 20_000))
            await world.settle()
            world.gate.state.withLock { $0.order = [] }
            let held = await world.router.status().loaded
            #expect(held <= 20_000)
        }
        #expect(world.ledger.state.withLock { $0.recordCount } == Int(count))
        #expect(world.router.unfinished == 0)
        await world.loop.shutDown()
    }
}
