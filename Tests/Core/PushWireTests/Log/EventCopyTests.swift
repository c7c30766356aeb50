import PushModel
import PushTime
import PushWire
import TestSupport
import Testing

/// Events that are copied from one log into another.
@Suite struct EventCopyTests {
    private static func copies(_ segment: LogSegment) throws -> [EventCopy] {
        var copies: [EventCopy] = []
        try segment.walk { event, apps, bytes in
            copies.append(EventCopy(event, apps: apps, bytes: bytes))
            return true
        }
        return copies
    }

    /// Returns the JSON lines of a segment.
    private static func text(_ segment: LogSegment) throws -> String {
        var text = EventText()
        var lines: [UInt8] = []
        try segment.walk { event, apps, bytes in
            text.append(event, of: apps, texts: bytes, to: &lines)
            lines.append(UInt8(ascii: "\n"))
            return true
        }
        return String(decoding: lines, as: UTF8.self)
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `A copy of a log with the same numbers has the same lines`(seed: UInt64) throws {
        var samples = LogSamples(seed: seed)
        var (writer, copier) = (LogWriter(next: 1000), LogWriter(next: 1000))
        for _ in 0..<5 {
            writer.begin(time: samples.now, reserving: 0)
            while writer.count < 40 { _ = samples.add(to: &writer) }
            let segment = writer.finish()
            copier.begin(time: segment.time, reserving: 0)
            for copy in try Self.copies(segment) { copier.add(copy) }
            #expect(try Self.text(copier.finish()) == Self.text(segment))
        }
    }

    @Test func `A copy gets the number and the predecessor of its new log`() throws {
        var samples = LogSamples(seed: 7)
        var writer = LogWriter(next: 1)
        writer.begin(time: samples.now, reserving: 0)
        while writer.count < 200 { _ = samples.add(to: &writer) }
        let copies = try Self.copies(writer.finish())
        #expect(copies.map(\.number) == (1...UInt64(copies.count)).map { $0 })
        let chosen = copies.filter { $0.number % 3 == 0 }
        var other = LogWriter(next: EventNumber.base(of: 3) + 1)
        other.begin(time: 5, reserving: 0)
        for copy in chosen { other.add(copy) }
        let found = try Self.copies(other.finish())
        #expect(found.map(\.number) == (1...UInt64(chosen.count)).map { EventNumber.base(of: 3) + $0 })
        #expect(found.map(\.time) == chosen.map(\.time) && found.map(\.kind) == chosen.map(\.kind))
        #expect(found.map(\.messageID) == chosen.map(\.messageID) && found.map(\.app) == chosen.map(\.app))
    }

    private static func line(_ draft: EventDraft, renumbering new: @escaping (UInt64) -> UInt64?) throws -> String {
        var writer = LogWriter(next: 1)
        writer.begin(time: 0, reserving: 0)
        writer.add(draft, at: 0)
        var copy = try #require(try copies(writer.finish()).first)
        copy.renumber(new)
        writer = LogWriter(next: 1)
        writer.begin(time: 0, reserving: 0)
        writer.add(copy)
        return try text(writer.finish())
    }

    @Test(
        arguments: [
            (nil, [], ["accepted_seq"], "accepted_seq\":9"), (nil, ["a"], ["accepted_seq"], "a\":1,\"accepted_seq\":9"),
            (nil, [], ["accepted_seq", "b"], "accepted_seq\":9,\"b\":1"),
            (0, [], ["accepted_seq"], "\"kind\":\"duplicate\""),
            (0, ["a"], ["accepted_seq"], "a\":1}"), (0, [], ["accepted_seq", "b"], "b\":1}"),
            (0, ["a"], ["accepted_seq", "b"], "a\":1,\"b\":1}"),
        ] as [(Int?, [String], [String], String)])
    func `A reference to an accepted message follows it, or is removed`(
        _ removed: Int?, _ before: [String], _ after: [String], _ expected: String
    ) throws {
        var draft = EventDraft(.messageDuplicate, app: AppID("shop"))
        if before == ["a"] { draft.add("a", number: 1) }
        draft.add("accepted_seq", number: 4711)
        if after.contains("b") { draft.add("b", number: 1) }
        let line = try Self.line(draft) { number in
            #expect(number == 4711)
            return removed == nil ? EventNumber.base(of: 2) + 9 : nil
        }
        #expect(line.contains(expected) && !line.contains("4711") && !line.contains(",,"), "\(line)")
        #expect(line.contains("accepted_seq") == (removed == nil))
        #expect(!line.contains(",}"))
    }
}
