import PushRandom
import TestSupport
import Testing

@testable import CarillonClient

@Suite struct NumberTableTests {
    @Test(arguments: 0..<8)
    func `A table has the same values as a dictionary`(_ seed: Int) {
        var random = SeededRandom(seed: UInt64(seed))
        var table = NumberTable<Int>()
        var dictionary: [UInt64: Int] = [:]
        // Few keys meet often; serial ones lie side by side.
        let bound: UInt64 = seed.isMultiple(of: 2) ? 40 : 1_000
        for step in 0..<20_000 {
            let key = UInt64.random(in: 0..<bound, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0, 1:
                table[key] = step
                dictionary[key] = step
            case 2: #expect(table.remove(key) == dictionary.removeValue(forKey: key))
            default:
                #expect(table[key] == dictionary[key])
                guard let position = table.position(of: key) else { continue }
                table[at: position] += 1
                dictionary[key]? += 1
            }
            #expect(table.count == dictionary.count)
        }
        var found: [UInt64: Int] = [:]
        table.forEach { found[$0] = $1 }
        #expect(found == dictionary)
    }

    @Test func `Keys with the same place are all found, and gaps close between them`() {
        var table = NumberTable<UInt64>()
        // The place of a key comes from the upper half of a product. Their multiples of a power of two have few places.
        let keys = (0..<200).map { UInt64($0) << 40 }
        for key in keys { table[key] = key }
        for (index, key) in keys.enumerated() where index.isMultiple(of: 3) { table.remove(key) }
        for (index, key) in keys.enumerated() {
            #expect(table[key] == (index.isMultiple(of: 3) ? nil : key))
        }
    }

    @Test func `A removed value is released`() {
        final class Thing {}
        var table = NumberTable<Thing>()
        weak var first: Thing?
        do {
            let thing = Thing()
            first = thing
            table[1] = thing
        }
        table[2] = Thing()
        table.remove(1)
        #expect(first == nil && table.count == 1)
    }
}
