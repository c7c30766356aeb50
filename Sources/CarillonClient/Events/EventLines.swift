import PushWire

/// Events of one topic, as they arrived: the lines, and the place and number of each.
final class EventLines: Sendable {
    struct Line: Sendable {
        let number: Int64
        let range: Range<Int>
    }

    let topic: String
    let bytes: [UInt8]
    let lines: [Line]
    /// The number of the event before the first one in the topic.
    let previous: Int64

    /// Reads the numbers of lines. Lines that have none, or whose numbers do not ascend, are left out. Returns nil if no
    /// line is left.
    init?(topic: String, bytes: [UInt8]) {
        var lines: [Line] = []
        var previous: Int64?
        var start = 0
        while start < bytes.count {
            let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
            if let (number, before) = Self.head(of: bytes, in: start..<end), number > lines.last?.number ?? 0 {
                if previous == nil { previous = before }
                lines.append(Line(number: number, range: start..<end))
            }
            start = end + 1
        }
        guard let previous, !lines.isEmpty else { return nil }
        self.topic = topic
        self.bytes = bytes
        self.lines = lines
        self.previous = previous
    }

    /// Returns `seq` and `prev` of a line.
    private static func head(of bytes: [UInt8], in range: Range<Int>) -> (number: Int64, previous: Int64)? {
        var at = range.lowerBound
        if skip(#"{"v":1,"seq":"#, in: bytes, at: &at, end: range.upperBound),
            let number = digits(in: bytes, at: &at, end: range.upperBound),
            skip(#","prev":"#, in: bytes, at: &at, end: range.upperBound),
            let previous = digits(in: bytes, at: &at, end: range.upperBound), at < range.upperBound,
            bytes[at] == UInt8(ascii: ",")
        {
            return (number, previous)
        }
        guard let json = try? JSONDocument(Array(bytes[range])), json.kind(json.root) == .object,
            let number = json.value("seq", in: json.root).flatMap({ json.integer($0) }), number > 0
        else { return nil }
        return (number, max(0, json.value("prev", in: json.root).flatMap { json.integer($0) } ?? 0))
    }

    private static func skip(_ word: StaticString, in bytes: [UInt8], at: inout Int, end: Int) -> Bool {
        let count = word.utf8CodeUnitCount
        guard end - at >= count else { return false }
        for index in 0..<count where unsafe bytes[at + index] != word.utf8Start[index] { return false }
        at += count
        return true
    }

    /// Returns a number of at most 18 digits, which cannot overflow.
    private static func digits(in bytes: [UInt8], at: inout Int, end: Int) -> Int64? {
        let start = at
        var number: Int64 = 0
        while at < end, at - start < 18, bytes[at] &- UInt8(ascii: "0") < 10 {
            number = number * 10 + Int64(bytes[at] - UInt8(ascii: "0"))
            at += 1
        }
        return at > start ? number : nil
    }
}

/// What Carillon says once a second: the newest number, and the newest of each topic with recent events.
struct Heartbeat: Equatable {
    let number: Int64
    let topics: [String: Int64]

    init(number: Int64, topics: [String: Int64]) {
        self.number = number
        self.topics = topics
    }

    init?(_ bytes: [UInt8]) {
        guard let json = try? JSONDocument(bytes, depthLimit: 8), json.kind(json.root) == .object,
            let number = json.value("seq", in: json.root).flatMap({ json.integer($0) }), number >= 0
        else { return nil }
        var topics: [String: Int64] = [:]
        if let list = json.value("topics", in: json.root) {
            for member in json.members(list) {
                guard let topic = json.string(member.key), let last = json.integer(member.value) else { continue }
                topics[topic] = last
            }
        }
        self.init(number: number, topics: topics)
    }
}

/// The end of an answer of the replay socket.
enum ReplayEnd: Equatable {
    case page(next: Int64, oldest: Int64)
    case damaged(next: Int64)
    case busy(Duration)
    case refused(String)

    init?(kind: [UInt8], _ bytes: [UInt8]) {
        guard let json = try? JSONDocument(bytes, depthLimit: 8), json.kind(json.root) == .object else { return nil }
        func integer(_ name: StaticString) -> Int64? { json.value(name, in: json.root).flatMap { json.integer($0) } }
        func text(_ name: StaticString) -> String? { json.value(name, in: json.root).flatMap { json.string($0) } }
        if kind == Array("replay-end/1".utf8) {
            guard let next = integer("next"), let oldest = integer("oldest"), next >= 0, oldest >= 0 else { return nil }
            self = .page(next: next, oldest: oldest)
            return
        }
        guard kind == Array("replay-error/1".utf8), let error = text("error") else { return nil }
        switch error {
        case "damaged":
            guard let next = integer("next"), next >= 0 else { return nil }
            self = .damaged(next: next)
        case "forbidden", "bad_frame", "bad_json", "bad_field":
            self = .refused(text("detail") ?? error)
        default: self = .busy(.milliseconds(max(1, min(integer("retry_after_ms") ?? 1_000, 60_000))))
        }
    }
}
