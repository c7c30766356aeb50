import PushModel
import TestSupport
import TestTraits
import Testing

@testable import PushLogic

@Suite struct DeviceIDTableTests {
    /// The ids differ in few bits, so that runs of slots merge, wrap around and are split.
    @Test(arguments: 0..<20) func `The table behaves like a set, whatever is inserted and removed`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var table = DeviceIDTable()
        var model: Set<DeviceID> = []
        for _ in 0..<5000 {
            let id = DeviceID(
                high: UInt64.random(in: 0..<4, using: &random),
                low: UInt64.random(in: 0..<40, using: &random) &* (seed.isMultiple(of: 2) ? 1 : .max / 3))
            if Bool.random(using: &random) {
                #expect(table.insert(id) == model.insert(id).inserted)
            } else {
                #expect(table.remove(id) == (model.remove(id) != nil))
            }
            #expect(table.count == model.count)
        }
        for high in 0..<4 {
            for low in 0..<40 {
                let id = DeviceID(
                    high: UInt64(high), low: UInt64(low) &* (seed.isMultiple(of: 2) ? 1 : .max / 3))
                #expect(table.contains(id) == model.contains(id))
            }
        }
    }

    @Test(.waits) func `Ids that are made to collide cost no more than others`() {
        var table = DeviceIDTable()
        // All ids have the same lower half.
        for number in 0..<100_000 { table.insert(DeviceID(high: UInt64(number), low: 0)) }
        #expect(table.count == 100_000)
        #expect((0..<100_000).allSatisfy { table.contains(DeviceID(high: UInt64($0), low: 0)) })
        #expect(!(0..<100_000).contains { table.contains(DeviceID(high: UInt64($0), low: 1)) })
    }

    @Test(arguments: [0, 1, 12, 13, 14, 1000, 100_000]) func `A table does not grow within its reserved capacity`(
        count: Int
    ) {
        var table = DeviceIDTable(reserving: count)
        let size = table.byteCount
        for number in 0..<count { table.insert(DeviceID(high: UInt64(number), low: 1)) }
        #expect(table.count == count && table.byteCount == size)
        #expect(size <= max(256, 40 * count))
        #expect(!table.insert(DeviceID(high: 0, low: 1)) || count == 0)
    }
}
