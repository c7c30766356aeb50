import PushModel
import TestSupport
import Testing

@testable import PushWire

@Suite struct PartitionMapTests {
    /// The vectors of `Documentation/ClusterDecisions.md`, computed with zlib.
    @Test(
        arguments: [
            ("order-4711", 0x2649_cdcf, 15, 31), ("1", 0x83dc_efb7, 55, 23),
            ("0191c0de-6a1b-7c3e-9d2f-3b5a7c9e1f20", 0xd243_5fe0, 32, 32), ("größe", 0x5bd3_a989, 9, 41),
            (String(repeating: "x", count: 128), 0xace0_8a37, 55, 7),
        ] as [(String, UInt32, Int, Int)], ["shop", "com.example.shop"])
    func `Partitions equal the documented vectors, whatever the app`(
        vector: (id: String, sum: UInt32, of64: Int, of48: Int), app: String
    ) throws {
        let app = try #require(AppID(app))
        let id = try #require(MessageID(vector.id))
        #expect(CRC32.of(ArraySlice(vector.id.utf8)) == vector.sum)
        #expect(try #require(PartitionMap(count: 64)).partition(of: app, id).number == vector.of64)
        #expect(try #require(PartitionMap(count: 48)).partition(of: app, id).number == vector.of48)
        #expect(try #require(PartitionMap(count: 1)).partition(of: app, id).number == 0)
    }

    /// Stores of versions before 3.
    @Test(
        arguments: [
            ("shop", "order-4711", 11, 27), ("shop", "1", 63, 31), ("shop", "größe", 9, 9),
            ("com.example.shop", "0191c0de-6a1b-7c3e-9d2f-3b5a7c9e1f20", 1, 1),
        ] as [(String, String, Int, Int)])
    func `An earlier store has partitions by app and id`(app: String, id: String, of64: Int, of48: Int) throws {
        let app = try #require(AppID(app))
        let id = try #require(MessageID(id))
        #expect(try #require(PartitionMap(count: 64, by: .appAndID)).partition(of: app, id).number == of64)
        #expect(try #require(PartitionMap(count: 48, by: .appAndID)).partition(of: app, id).number == of48)
    }

    @Test func `The check value of CRC-32 is right, and pieces add up`() {
        #expect(CRC32.of(ArraySlice("123456789".utf8)) == 0xcbf4_3926)
        #expect(CRC32.of([]) == 0)
        var random = SeededRandom(seed: 3)
        for length in 0..<100 {
            let bytes = random.bytes(length)
            let cut = Int.random(in: 0...length, using: &random)
            var sum = CRC32()
            unsafe bytes[..<cut].withUnsafeBytes { unsafe sum.add($0) }
            for byte in bytes[cut...] { sum.add(byte) }
            #expect(sum.value == CRC32.of(bytes[...]))
        }
    }

    @Test(arguments: ["%", "order-%", "%%", "2026-11-%", "00000000-5c2a-11ef-9a1c-0242ac12%", "%000", "%:sale"])
    func `Ids that producers use are spread evenly`(_ form: String) throws {
        let map = try #require(PartitionMap(count: 64))
        let app = try #require(AppID("shop"))
        var counts = [Int](repeating: 0, count: 64)
        for number in 0..<64_000 {
            let text = form.split(separator: "%", omittingEmptySubsequences: false).joined(separator: "\(number)")
            counts[map.partition(of: app, try #require(MessageID(text))).number] += 1
        }
        // A random assignment deviates by more than 15 % once in ten thousand runs.
        #expect(counts.allSatisfy { (850...1150).contains($0) })
    }

    @Test(arguments: [0, -1, 257]) func `A cluster has 1 to 256 partitions`(_ count: Int) {
        #expect(PartitionMap(count: count) == nil)
    }
}
