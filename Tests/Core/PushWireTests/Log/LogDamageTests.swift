import PushModel
import PushWire
import TestSupport
import Testing

/// Segments that the disk damaged.
@Suite struct LogDamageTests {
    private func segment(seed: UInt64, events: Int) -> LogSegment {
        var samples = LogSamples(seed: seed)
        var writer = LogWriter(next: 1000, heads: [.init(app: AppID("app1"), kind: .deliverySent, seq: 4)])
        writer.begin(time: samples.now, reserving: 0)
        while writer.count < events { _ = samples.add(to: &writer) }
        return writer.finish()
    }

    @Test("A truncated segment is rejected") func everyTruncation() throws {
        let whole = segment(seed: 1, events: 60)
        #expect(try whole.lines().count == whole.count)
        for length in 0..<whole.bytes.count {
            #expect(throws: DamagedSegment.self) {
                try whole.with(Array(whole.bytes.prefix(length))).walk { _, _, _ in true }
            }
        }
        // With a correct checksum the decoder itself must detect the missing bytes.
        for length in 0..<whole.body.count {
            #expect(throws: DamagedSegment.self) {
                try whole.sealed(Array(whole.body.prefix(length))).walk { _, _, _ in true }
            }
        }
    }

    /// The walk must not visit any event of a segment that differs from what was written.
    @Test("A segment with any flipped bit is rejected before the first event") func everyFlippedBit() throws {
        let whole = segment(seed: 2, events: 12)
        for index in whole.bytes.indices {
            for bit in 0..<8 {
                var bytes = whole.bytes
                bytes[index] ^= 1 << bit
                var visits = 0
                #expect(throws: DamagedSegment.self) {
                    try whole.with(bytes).walk { _, _, _ in
                        visits += 1
                        return true
                    }
                }
                #expect(visits == 0)
            }
        }
    }

    @Test("A segment under a wrong number, count or time is rejected") func aRowUnderTheWrongNumber() {
        let whole = segment(seed: 3, events: 12)
        let wrong = [
            LogSegment(first: whole.first + 1, count: whole.count, time: whole.time, bytes: whole.bytes),
            LogSegment(first: whole.first, count: whole.count - 1, time: whole.time, bytes: whole.bytes),
            LogSegment(first: whole.first, count: whole.count, time: whole.time + 1, bytes: whole.bytes),
            LogSegment(first: whole.first, count: -1, time: whole.time, bytes: whole.bytes),
            LogSegment(first: whole.first, count: .max, time: whole.time, bytes: whole.bytes),
            LogSegment(first: whole.first, count: .min, time: whole.time, bytes: []),
        ]
        for segment in wrong { #expect(throws: DamagedSegment.self) { try segment.walk { _, _, _ in true } } }
        // The same with a checksum that matches the wrong values.
        for count in [-1, .min, .max, whole.count - 1, whole.count + 1] {
            #expect(throws: DamagedSegment.self) { try whole.sealed(whole.body, count: count).walk { _, _, _ in true } }
        }
        for first: UInt64 in [.max, .max - 3, 0, 1] {
            #expect(throws: DamagedSegment.self) { try whole.sealed(whole.body, first: first).walk { _, _, _ in true } }
        }
    }

    /// The checksum matches the changed bytes, so the decoder must cope with any content: it reads nothing beyond the
    /// bytes, and each visited event can be written as a line.
    @Test("Changed bytes with a matching checksum are decoded safely", arguments: 0..<8)
    func mutatedBytes(_ seed: Int) throws {
        var random = SeededRandom(seed: UInt64(seed) + 77)
        var text = EventText()
        var (refused, passed) = (0, 0)
        for round in 0..<60 {
            let whole = segment(seed: UInt64(seed * 1000 + round), events: 20)
            for _ in 0..<40 {
                let body = random.mutate(whole.body, chance: 1)
                let count = Bool.random(using: &random) ? whole.count : Int.random(in: 0...40, using: &random)
                do {
                    try whole.sealed(body, count: count).walk { event, apps, bytes in
                        #expect(bytes.count == body.count)
                        var line: [UInt8] = []
                        text.append(event, of: apps, texts: bytes, to: &line)
                        #expect(line.last == UInt8(ascii: "}") && event.prev < event.seq)
                        return true
                    }
                    passed += 1
                } catch {
                    refused += 1
                }
                if body != whole.body {
                    #expect(throws: DamagedSegment.self) {
                        try whole.with(body + whole.bytes.suffix(4)).walk { _, _, _ in true }
                    }
                }
            }
        }
        #expect(refused > 0 && passed > 0)
    }

    @Test("Random bytes are rejected or decoded safely") func bytesOfNoSegment() {
        var random = SeededRandom(seed: 5)
        let whole = segment(seed: 4, events: 1)
        for length in 0..<300 {
            let body = random.bytes(length)
            #expect(throws: DamagedSegment.self) { try whole.with(body).walk { _, _, _ in true } }
            try? whole.sealed(body, count: length / 6).walk { _, _, _ in true }
        }
    }

    /// References to missing values, an app out of order, unknown fields, and varints that do not end.
    @Test(
        "Invalid events are rejected",
        arguments: [
            [1, 0x02, 0, 0, 0, 0], [1, 0, 0x02, 0, 0, 0], [1, 0, 0, 1, 0, 0, 0], [1, 0, 0, 2, 0, 0],
            [1, 0, 0x08, 0, 0, 0], [0, 0, 0, 0, 0, 0], [255, 0, 0, 0, 0, 0], [1, 0, 0, 1, 1, 0x2f, 0, 0],
            [1, 0, 0, 0] + [UInt8](repeating: 0x80, count: 9) + [0x02, 0],
            [1, 0, 0, 0] + [UInt8](repeating: 0xff, count: 12), [1, 0, 0, 0, 0xe8, 0x07, 0],
            [1, 0x01, 0, 0, 0, 0] + [UInt8](repeating: 0xff, count: 9) + [0x01], [1, 0, 0, 0, 0, 0, 0],
        ] as [[UInt8]])
    func impossibleEvents(_ body: [UInt8]) {
        let one = LogSegment(first: 1000, count: 1, time: 0, bytes: [])
        #expect(throws: DamagedSegment.self) { try one.sealed(body).walk { _, _, _ in true } }
    }
}
