import PushModel
import PushWire
import TestSupport
import Testing

/// Every event contains the number of the previous event of its topic, whatever came between and whatever was reverted.
@Suite struct LogChainTests {
    @Test("The chain of each topic is complete over thousands of events", arguments: 0..<6)
    func chainsOverThousandsOfEvents(_ seed: UInt64) throws {
        var samples = LogSamples(seed: seed)
        var writer = LogWriter(next: 1)
        var lasts: [String: Int64] = [:]
        var next: Int64 = 1
        for _ in 0..<120 {
            let before = writer.topics.count
            writer.setMark()
            #expect(writer.changedTopics.isEmpty)
            writer.begin(time: samples.now, reserving: 0)
            let size = Int.random(in: 1...60, using: &samples.random)
            var added = 0
            while added < size { added += samples.add(to: &writer) }
            #expect(writer.count == added)
            // Some segments fail to reach the disk, half of them before they are finished.
            if Int.random(in: 0..<4, using: &samples.random) == 0 {
                if Bool.random(using: &samples.random) { _ = writer.finish() }
                writer.revert()
                #expect(writer.topics.count == before && writer.changedTopics.isEmpty)
                #expect(writer.next == UInt64(next))
                continue
            }
            let segment = writer.finish()
            let changed = writer.changedTopics
            #expect(changed.allSatisfy { $0.seq >= UInt64(next) })
            #expect(changed.count == Set(changed.map { $0.kind.topic(of: $0.app) }).count)
            #expect(segment.first == UInt64(next) && segment.count == added)
            for line in try segment.lines() {
                #expect(line.number("v") == 1)
                #expect(line.number("seq") == next)
                #expect(line.number("prev") == lasts[line.topic] ?? 0)
                #expect(line.number("ts") != nil)
                if line.text("family") == "delivery", line.text("message_id") != nil, line.number("attempt") != nil {
                    #expect(line.text("device")?.utf8.count == 32)
                }
                lasts[line.topic] = next
                next += 1
            }
            for head in changed { #expect(lasts[head.kind.topic(of: head.app)] == Int64(head.seq)) }
        }
        // The heads that the next writer starts from are those that were written.
        let heads = writer.topics
        #expect(Dictionary(uniqueKeysWithValues: heads.map { ($0.kind.topic(of: $0.app), Int64($0.seq)) }) == lasts)
        var resumed = LogWriter(next: writer.next, heads: heads)
        for _ in 0..<10 {
            writer.begin(time: 5, reserving: 0)
            resumed.begin(time: 5, reserving: 0)
            let draft = samples.draft()
            writer.add(draft, at: 6)
            resumed.add(draft, at: 6)
            #expect(writer.finish().bytes == resumed.finish().bytes)
        }
    }
}
