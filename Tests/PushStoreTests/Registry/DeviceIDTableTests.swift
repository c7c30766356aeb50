import PushModel
import TestSupport
import Testing

@testable import PushStore

@Suite struct DeviceIDTableTests {
    /// With few different bits, so that runs of slots grow together, wrap around and are torn apart.
    @Test(arguments: 0..<20) func `It holds what a set would, whatever is put in and taken out`(seed: UInt64) {
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

    @Test(.timeLimit(.minutes(1))) func `Ids of somebody's making cost no more than others`() {
        var table = DeviceIDTable()
        // All of them have the same lower half.
        for number in 0..<100_000 { table.insert(DeviceID(high: UInt64(number), low: 0)) }
        #expect(table.count == 100_000)
        #expect((0..<100_000).allSatisfy { table.contains(DeviceID(high: UInt64($0), low: 0)) })
        #expect(!(0..<100_000).contains { table.contains(DeviceID(high: UInt64($0), low: 1)) })
    }

    @Test func `A million that are gone take less than 40 MB`() {
        var random = SeededRandom(seed: 7)
        let gone = GoneDevices()
        #expect(gone.isEmpty)
        for _ in 0..<1_000_000 { gone.insert(DeviceID(high: random.next(), low: random.next())) }
        #expect(gone.count == 1_000_000 && !gone.isEmpty)
        #expect(gone.byteCount < 40_000_000)
        random = SeededRandom(seed: 7)
        for number in 0..<1_000_000 {
            let id = DeviceID(high: random.next(), low: random.next())
            if number < 1000 { #expect(gone.contains(id) && !gone.contains(DeviceID(high: id.low, low: id.high))) }
            gone.remove(id)
        }
        #expect(gone.isEmpty)
    }

    @Test func `What is not in the file is remembered, in bounds, until it is written`() {
        let unknown = UnknownDevices(limit: 100)
        func id(_ number: Int) -> DeviceID { DeviceID(high: UInt64(number), low: UInt64(number)) }
        for number in 0..<1000 {
            unknown.add([id(number)], readAfter: unknown.writes)
            #expect(unknown.count <= 100)
        }
        #expect(unknown.contains(id(999)) && unknown.contains(id(951)) && !unknown.contains(id(0)))
        unknown.written([id(999)])
        #expect(!unknown.contains(id(999)) && unknown.contains(id(998)))
    }

    @Test func `Who read before another wrote remembers nothing`() {
        let unknown = UnknownDevices(limit: 100)
        let one = DeviceID(high: 1, low: 1)
        let before = unknown.writes
        unknown.written([one])
        unknown.add([one], readAfter: before)
        #expect(!unknown.contains(one))
    }
}
