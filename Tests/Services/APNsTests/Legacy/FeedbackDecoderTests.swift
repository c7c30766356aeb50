import PushModel
import PushWire
import TestSupport
import Testing

@testable import APNs

/// Returns a list in the format of the service, encoded by hand.
private func list(_ tuples: [FeedbackTuple]) -> [UInt8] {
    tuples.flatMap { tuple in
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: tuple.time >> UInt32($0)) } + [0, UInt8(tuple.token.byteCount)]
            + tuple.token.bytes
    }
}

private func tuples(_ count: Int, _ random: inout SeededRandom) -> [FeedbackTuple] {
    (0..<count).map { index in
        // Some tokens consist of 0x0a, which must not be mistaken for the end of a record.
        let token = index.isMultiple(of: 3) ? [UInt8](repeating: 0x0a, count: 32) : random.bytes(1 + index * 7 % 100)
        return FeedbackTuple(time: UInt32.random(in: 0 ... .max, using: &random), token: Address(bytes: token)!)
    }
}

@Suite struct FeedbackDecoderTests {
    @Test func `A tuple is decoded from its time, token length and token`() throws {
        var decoder = FeedbackDecoder()
        var found: [FeedbackTuple] = []
        decoder.decode([0x65, 0x53, 0xf1, 0, 0, 2, 0xab, 0xcd, 0, 0, 0, 1, 0, 1, 0x0a], into: &found)
        #expect(
            found == [
                FeedbackTuple(time: 1_700_000_000, token: Address(bytes: [0xab, 0xcd])!),
                FeedbackTuple(time: 1, token: Address(bytes: [0x0a])!),
            ])
        try decoder.finish()
    }

    @Test func `Tuples are decoded at every split, and an end within one is an error`() {
        var random = SeededRandom(seed: 5)
        let all = tuples(6, &random)
        let bytes = list(all)
        let ends = all.reduce(into: [0]) { $0.append($0.last! + 6 + $1.token.byteCount) }
        for split in 0...bytes.count {
            var decoder = FeedbackDecoder()
            var found: [FeedbackTuple] = []
            decoder.decode(Array(bytes[..<split]), into: &found)
            let whole = ends.lastIndex { $0 <= split }!
            #expect(found == Array(all[..<whole]))
            if ends[whole] == split {
                #expect(throws: Never.self) { try decoder.finish() }
            } else {
                #expect(throws: FeedbackTruncation(bytes: split - ends[whole])) { try decoder.finish() }
            }
            decoder.decode(Array(bytes[split...]), into: &found)
            #expect(found == all)
            #expect(throws: Never.self) { try decoder.finish() }
        }
        var decoder = FeedbackDecoder()
        var found: [FeedbackTuple] = []
        for byte in bytes { decoder.decode([byte], into: &found) }
        #expect(found == all)
    }

    @Test(arguments: [0, 101, 256, 65_535])
    func `A malformed token is skipped, and the following tuples are decoded`(length: Int) throws {
        var random = SeededRandom(seed: 6)
        let all = tuples(3, &random)
        let odd = [1, 2, 3, 4, UInt8(length >> 8), UInt8(length & 255)] + random.bytes(length)
        let bytes = list([all[0]]) + odd + list(Array(all[1...]))
        for size in [1, 7, 1000, bytes.count] {
            var decoder = FeedbackDecoder()
            var found: [FeedbackTuple] = []
            var rest = bytes[...]
            while !rest.isEmpty {
                decoder.decode(Array(rest.prefix(size)), into: &found)
                rest = rest.dropFirst(size)
            }
            #expect(found == all && decoder.malformed == 1)
            try decoder.finish()
        }
        if length > 0 {
            var decoder = FeedbackDecoder()
            var found: [FeedbackTuple] = []
            decoder.decode(Array(odd.dropLast()), into: &found)
            #expect(throws: FeedbackTruncation(bytes: 6 + length - 1)) { try decoder.finish() }
        }
    }

    @Test func `The result does not depend on how the bytes are split`() {
        var random = SeededRandom(seed: 7)
        for _ in 0..<1000 {
            let bytes = random.mutate(list(tuples(5, &random)), chance: 0.95)
            var whole = FeedbackDecoder()
            var expected: [FeedbackTuple] = []
            whole.decode(bytes, into: &expected)
            var decoder = FeedbackDecoder()
            var found: [FeedbackTuple] = []
            var rest = bytes[...]
            while !rest.isEmpty {
                let piece = rest.prefix(Int.random(in: 1...40, using: &random))
                decoder.decode(Array(piece), into: &found)
                rest = rest.dropFirst(piece.count)
            }
            #expect(found == expected && decoder.malformed == whole.malformed)
            #expect((try? decoder.finish()) == nil ? (try? whole.finish()) == nil : (try? whole.finish()) != nil)
        }
    }
}

@Suite struct FeedbackRecordTests {
    @Test func `A record ends with the CRC-32 of gzip`() {
        var bytes: [UInt8] = []
        FeedbackRecord.append(FeedbackTuple(time: 0x3637_3839, token: Address(bytes: [0x30])!), to: &bytes)
        // python3: zlib.crc32(b"\x016789\x30") == 0x3b26f606
        #expect(Array(bytes[..<6]) == [1, 0x36, 0x37, 0x38, 0x39, 0x30] && bytes.count == 10)
        #expect(Array(bytes[6...]) == CRCGolden.bytes)
    }

    @Test func `Of truncated records those before the cut are read`() {
        var random = SeededRandom(seed: 8)
        let all = tuples(5, &random)
        var bytes: [UInt8] = []
        var ends = [0]
        for tuple in all {
            FeedbackRecord.append(tuple, to: &bytes)
            ends.append(bytes.count)
        }
        for cut in 0...bytes.count {
            let reading = FeedbackRecord.read(bytes[..<cut])
            let whole = ends.lastIndex { $0 <= cut }!
            #expect(reading.tuples == Array(all[..<whole]) && reading.used == ends[whole] && !reading.isDamaged)
        }
        #expect(FeedbackRecord.read(bytes, limit: 2).used == ends[2])
    }

    @Test func `A record with any flipped bit is detected`() {
        var random = SeededRandom(seed: 9)
        let all = tuples(3, &random)
        var bytes: [UInt8] = []
        for tuple in all { FeedbackRecord.append(tuple, to: &bytes) }
        for place in bytes.indices {
            for bit in 0..<8 {
                var damaged = bytes
                damaged[place] ^= 1 << UInt8(bit)
                let reading = FeedbackRecord.read(damaged)
                #expect(reading.tuples.count < 3 && Array(all[..<reading.tuples.count]) == reading.tuples)
            }
        }
    }
}

private enum CRCGolden {
    static let bytes: [UInt8] = [0x3b, 0x26, 0xf6, 0x06]
}
