import PushModel
import TestSupport
import Testing

@testable import PushLogic

@Suite struct FingerprintTableTests {
    /// A comparison with a dictionary. Few shards and few home slots make entries collide and wrap around.
    @Test("The table behaves like a dictionary", arguments: [1, 2, 3] as [UInt64])
    func itIsADictionary(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let table = FingerprintTable(hasValues: true)
        var mirror: [UInt64: UInt64] = [:]
        for step in 0..<200_000 {
            let key = Self.collidingKey(&random)
            switch random.next() % 5 {
            case 0, 1:
                let value = random.next() & FingerprintTable.maximumValue
                table.set(value, for: key)
                mirror[Self.one(key)] = value
            case 2, 3:
                #expect(table.remove(key) == (mirror.removeValue(forKey: Self.one(key)) != nil), "step \(step)")
            default:
                #expect(table.value(of: key) == mirror[Self.one(key)], "step \(step)")
            }
            #expect(table.count == mirror.count)
        }
        for (key, value) in mirror { #expect(table.value(of: key) == value) }
    }

    @Test("A table without values behaves like a set", arguments: [1, 2, 3] as [UInt64])
    func itIsASet(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let table = FingerprintTable(hasValues: false)
        var mirror: Set<UInt64> = []
        for step in 0..<100_000 {
            let key = Self.collidingKey(&random)
            switch random.next() % 5 {
            case 0, 1: #expect(table.insert(key) == mirror.insert(Self.one(key)).inserted, "step \(step)")
            case 2, 3: #expect(table.remove(key) == (mirror.remove(Self.one(key)) != nil), "step \(step)")
            default: #expect(table.contains(key) == mirror.contains(Self.one(key)), "step \(step)")
            }
            #expect(table.count == mirror.count)
        }
        for key in mirror { #expect(table.contains(key)) }
    }

    /// Returns one of the keys that belong to two shards and have 64 home slots, including the highest.
    private static func collidingKey(_ random: inout SeededRandom) -> UInt64 {
        (random.next() & 1) << 63 | (random.next() % 64) << 36 | random.next() & 7
    }

    /// Returns the fingerprint that the table stores. A key of zeros, which marks an empty slot, is replaced by another
    /// one.
    private static func one(_ key: UInt64) -> UInt64 { key << 13 == 0 ? key | 1 : key }

    @Test("Every number up to the maximum is stored") func everyNumberHasRoom() {
        let table = FingerprintTable(hasValues: true)
        for bit in 0..<45 as Range<UInt64> { table.set(1 << bit, for: bit << 51 | bit) }
        table.set(FingerprintTable.maximumValue, for: .max)
        for bit in 0..<45 as Range<UInt64> { #expect(table.value(of: bit << 51 | bit) == 1 << bit) }
        #expect(table.value(of: .max) == FingerprintTable.maximumValue)
        #expect(table.value(of: 45) == nil)
    }

    @Test("Insert and remove report whether they changed the table") func insertTellsWhatIsNew() {
        let table = FingerprintTable(hasValues: false)
        #expect(table.insert(7 << 40))
        #expect(!table.insert(7 << 40))
        #expect(table.contains(7 << 40))
        #expect(!table.contains(8 << 40))
        #expect(table.remove(7 << 40))
        #expect(!table.remove(7 << 40))
        #expect(table.count == 0)
    }

    /// If all keys had one home slot, every other test would pass, but a thousand keys would take a second.
    @Test("Home slots are evenly distributed") func homesAreSpread() {
        var random = SeededRandom(seed: 4)
        let homes = Set((0..<1000).map { _ in FingerprintTable.home(of: random.next(), capacity: 1000) })
        #expect(homes.count > 550)
        #expect(homes.allSatisfy { (0..<1000).contains($0) })
    }

    @Test("A million fingerprints take at most 13 bytes each") func aMillionTakeNoMoreThanThirteenBytesEach() {
        var random = SeededRandom(seed: 9)
        let table = FingerprintTable(hasValues: false)
        for _ in 0..<1_000_000 { table.insert(random.next()) }
        #expect(table.count == 1_000_000)
        #expect(table.byteCount <= 13_000_000)
    }

    @Test("Adding a known fingerprint keeps its number") func whatIsThereKeepsItsNumber() {
        let table = FingerprintTable(hasValues: true)
        #expect(table.add(3, for: 9 << 40) == nil)
        #expect(table.add(4, for: 9 << 40) == 3)
        #expect(table.value(of: 9 << 40) == 3)
    }

    @Test("A table does not grow within its reserved capacity") func whatWasReservedIsNotOutgrown() {
        var random = SeededRandom(seed: 12)
        let table = FingerprintTable(hasValues: true)
        _ = table.add(1, for: 77)
        table.reserve(300_000)
        #expect(table.value(of: 77) == 1)
        let size = table.byteCount
        for number in 0..<UInt64(299_000) { _ = table.add(number, for: random.next()) }
        #expect(table.byteCount == size)
        #expect(table.count == 299_001)
    }
}

@Suite struct NumberSpaceTests {
    @Test func `The tables of a part hold the numbers of that part`() {
        let space = NumberSpace.part(63, of: 64)
        let table = FingerprintTable(hasValues: true, space: space)
        var random = SeededRandom(seed: 5)
        var known: [UInt64: UInt64] = [:]
        for _ in 0..<20_000 {
            let fingerprint = random.next()
            let number = EventNumber.base(of: 63) + random.next() % (1 << 39)
            table.set(number, for: fingerprint)
            known[fingerprint] = number
        }
        #expect(table.count == known.count)
        #expect(known.allSatisfy { table.value(of: $0.key) == $0.value })
        #expect(known.keys.allSatisfy { table.remove($0) } && table.count == 0)
    }

    @Test func `A space contains the numbers of its own part only`() {
        let space = NumberSpace.part(3, of: 64)
        #expect(space.contains(EventNumber.base(of: 3)) && space.contains(space.maximum))
        #expect(!space.contains(EventNumber.base(of: 2) + 5) && !space.contains(EventNumber.base(of: 4)))
        #expect(!space.contains(space.maximum + 1))
        // Half a trillion events in each part.
        #expect(EventNumber.within(space.maximum) == 1 << 39 - 1)
        #expect(NumberSpace.part(0, of: 1) == .whole)
    }

    @Test func `Sixty-four empty machines take as little memory as one`() {
        let one = FingerprintTable(hasValues: true)
        let many = (0..<64).map { FingerprintTable(hasValues: true, space: .part($0, of: 64)) }
        for index in 0..<100_000 {
            let fingerprint = UInt64(index) &* 0x9e37_79b9_7f4a_7c15
            one.set(UInt64(index), for: fingerprint)
            let part = index % 64
            many[part].set(EventNumber.base(of: part) + UInt64(index), for: fingerprint)
        }
        #expect(many.reduce(0) { $0 + $1.byteCount } < one.byteCount * 3 / 2)
    }
}
