import PushModel
import PushTime
import Testing

@testable import PushWire

/// What leaves the process of a number that contains a part.
@Suite struct PartNumberTests {
    private let base = EventNumber.base(of: 3)

    @Test func `A number is shown with its part`() {
        #expect(EventNumber.shown(918_273) == (part: 0, number: 918_273))
        #expect(EventNumber.shown(base + 17) == (part: 3, number: 17))
        #expect(EventNumber.shown(EventNumber.base(of: 255) + 1) == (part: 255, number: 1))
        #expect(EventNumber.shown(EventNumber.base(of: 1) - 1) == (part: 0, number: 281_474_976_710_655))
        // No log assigns it.
        #expect(EventNumber.shown(.max) == (part: 0, number: .max))
        #expect(EventNumber.text(17) == "17" && EventNumber.text(base + 17) == "17 of part 3")
    }

    @Test func `An ack has the part unless it is 0`() {
        let id = MessageID("a")!
        #expect(
            AckTextTests.text { AckText.accepted(id: id, seq: base + 17, to: &$0) }
                == #"{"id":"a","status":"accepted","seq":17,"part":3}"#)
        #expect(
            AckTextTests.text { AckText.duplicate(id: id, seq: base + 17, findings: Array("[]".utf8), to: &$0) }
                == #"{"id":"a","status":"duplicate","seq":17,"part":3,"findings":[]}"#)
        #expect(
            AckTextTests.text { AckText.accepted(id: id, seq: 17, to: &$0) }
                == #"{"id":"a","status":"accepted","seq":17}"#)
    }

    @Test func `An event has numbers within its part`() throws {
        var writer = LogWriter(next: base + 17, heads: [.init(app: nil, kind: .deviceBrake, seq: base + 9)])
        writer.begin(time: 1000, reserving: 0)
        writer.add(EventDraft(.deviceBrake, app: nil), at: 1000)
        writer.add(EventDraft(.deviceBrake, app: nil), at: 1001)
        writer.add(EventDraft(.deviceRegistered, app: nil), at: 1002)
        let message = Message(id: MessageID("m")!, app: AppID("shop")!, payload: [])
        let damaged = CompletedMessage(
            seq: base + 5, message: message, counts: OutcomeCounts(), failure: .damaged("x"))
        writer.add(damaged, at: 1003)
        let lines = try writer.finish().texts()
        #expect(
            lines[..<3] == [
                #"{"v":1,"seq":17,"prev":9,"part":3,"ts":1000,"family":"device","app":"-","kind":"brake"}"#,
                #"{"v":1,"seq":18,"prev":17,"part":3,"ts":1001,"family":"device","app":"-","kind":"brake"}"#,
                #"{"v":1,"seq":19,"prev":0,"part":3,"ts":1002,"family":"device","app":"-","kind":"registered"}"#,
            ])
        #expect(lines[3].contains(#""accepted_seq":5"#))
    }

    /// The longest numbers and texts fit into the room of a line.
    @Test func `The longest line of a part is written`() throws {
        let base = EventNumber.base(of: 255)
        let newest = base + (1 << 48) - 2
        var writer = LogWriter(next: newest, heads: [.init(app: nil, kind: .deliverySent, seq: newest - 1)])
        writer.begin(time: .distantPast, reserving: 0)
        var draft = EventDraft(.deliverySent, app: nil)
        draft.messageID = MessageID(String(repeating: "\\", count: 128))
        draft.reason = String(repeating: "\u{1}", count: 200)
        writer.add(draft, at: .distantPast)
        let line = try #require(try writer.finish().lines().first)
        #expect(line.number("seq") == (1 << 48) - 2 && line.number("prev") == (1 << 48) - 3)
        #expect(line.number("part") == 255 && line.text("reason") == draft.reason)
    }
}

extension LogSegment {
    fileprivate func texts() throws -> [String] {
        var text = EventText()
        var lines: [String] = []
        try walk { event, apps, bytes in
            var line: [UInt8] = []
            text.append(event, of: apps, texts: bytes, to: &line)
            lines.append(String(decoding: line, as: UTF8.self))
            return true
        }
        return lines
    }
}
