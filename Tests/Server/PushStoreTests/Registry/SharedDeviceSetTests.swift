import PushModel
import TestSupport
import Testing

@testable import PushStore

/// The devices that the registry keeps in memory: those that are inactive, and those that are not in the file.
@Suite struct SharedDeviceSetTests {
    @Test func `A million inactive devices take less than 40 MB`() {
        var random = SeededRandom(seed: 7)
        let gone = SharedDeviceSet()
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

    @Test func `Unknown devices are remembered up to a limit until they are written`() {
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

    @Test func `A lookup that began before a write remembers nothing`() {
        let unknown = UnknownDevices(limit: 100)
        let one = DeviceID(high: 1, low: 1)
        let before = unknown.writes
        unknown.written([one])
        unknown.add([one], readAfter: before)
        #expect(!unknown.contains(one))
    }
}
