import PushWire

/// Events of one topic and one part of the log, as they arrived: the lines, and the place and number of each.
final class EventLines: Sendable {
    struct Line: Sendable {
        let number: Int64
        let range: Range<Int>
    }

    let topic: String
    /// The part of the log in a cluster; 0 on a single node.
    let part: Int
    let bytes: [UInt8]
    let lines: [Line]
    /// The number of the event before the first one in the topic.
    let previous: Int64

    private struct Run {
        let part: Int
        let previous: Int64
        var lines: [Line]
    }

    private init(_ run: Run, topic: String, bytes: [UInt8]) {
        self.topic = topic
        self.bytes = bytes
        part = run.part
        lines = run.lines
        previous = run.previous
    }

    /// Reads the numbers of lines, as ``read(topic:bytes:)`` does. Returns those of the first part, or nil if no line is
    /// left.
    convenience init?(topic: String, bytes: [UInt8]) {
        guard let run = Self.runs(of: bytes).first else { return nil }
        self.init(run, topic: topic, bytes: bytes)
    }

    /// Reads the numbers of the lines of a message. Lines that have none, or whose numbers do not ascend within their
    /// part, are left out.
    static func read(topic: String, bytes: [UInt8]) -> [EventLines] {
        runs(of: bytes).map { EventLines($0, topic: topic, bytes: bytes) }
    }

    private static func runs(of bytes: [UInt8]) -> [Run] {
        var runs: [Run] = []
        var start = 0
        while start < bytes.count {
            let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
            if let (number, previous, part) = head(of: bytes, in: start..<end) {
                let line = Line(number: number, range: start..<end)
                // A message has few parts.
                if let index = runs.lastIndex(where: { $0.part == part }) {
                    if number > runs[index].lines.last?.number ?? 0 { runs[index].lines.append(line) }
                } else if number > 0 {
                    runs.append(Run(part: part, previous: previous, lines: [line]))
                }
            }
            start = end + 1
        }
        return runs
    }

    /// Returns `seq`, `prev` and `part` of a line.
    private static func head(
        of bytes: [UInt8], in range: Range<Int>
    ) -> (number: Int64, previous: Int64, part: Int)? {
        var at = range.lowerBound
        if skip(#"{"v":1,"seq":"#, in: bytes, at: &at, end: range.upperBound),
            let number = digits(in: bytes, at: &at, end: range.upperBound),
            skip(#","prev":"#, in: bytes, at: &at, end: range.upperBound),
            let previous = digits(in: bytes, at: &at, end: range.upperBound), at < range.upperBound,
            bytes[at] == UInt8(ascii: ",")
        {
            var behind = at
            guard skip(#","part":"#, in: bytes, at: &behind, end: range.upperBound) else {
                return (number, previous, 0)
            }
            if let part = digits(in: bytes, at: &behind, end: range.upperBound), part < EventPosition.maxParts {
                return (number, previous, Int(part))
            }
        }
        guard let json = try? JSONDocument(Array(bytes[range])), json.kind(json.root) == .object,
            let number = json.value("seq", in: json.root).flatMap({ json.integer($0) }), number > 0
        else { return nil }
        let part = json.value("part", in: json.root).map { json.integer($0) ?? -1 } ?? 0
        guard (0..<Int64(EventPosition.maxParts)).contains(part) else { return nil }
        return (number, max(0, json.value("prev", in: json.root).flatMap { json.integer($0) } ?? 0), Int(part))
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

/// What Carillon says once a second: the newest number, and the newest of each topic with recent events. A node of a
/// cluster says both for each of its parts.
struct Heartbeat: Equatable {
    let number: Int64
    let topics: [String: Int64]
    /// The parts of a node of a cluster; nil on a single node.
    let parts: [Int: Heartbeat]?

    init(number: Int64, topics: [String: Int64], parts: [Int: Heartbeat]? = nil) {
        self.number = number
        self.topics = topics
        self.parts = parts
    }

    init?(_ bytes: [UInt8]) {
        guard let json = try? JSONDocument(bytes, depthLimit: 8), json.kind(json.root) == .object else { return nil }
        guard let list = json.value("parts", in: json.root), json.kind(list) == .object else {
            self.init(json, at: json.root)
            return
        }
        var parts: [Int: Heartbeat] = [:]
        for member in json.members(list) {
            guard let part = json.string(member.key).flatMap({ Int($0) }), (0..<EventPosition.maxParts).contains(part)
            else { continue }
            parts[part] = Heartbeat(json, at: member.value)
        }
        self.init(number: 0, topics: [:], parts: parts)
    }

    private init?(_ json: JSONDocument, at position: JSONDocument.Position) {
        guard json.kind(position) == .object,
            let number = json.value("seq", in: position).flatMap({ json.integer($0) }), number >= 0
        else { return nil }
        var topics: [String: Int64] = [:]
        if let list = json.value("topics", in: position) {
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
    /// The answer to a request for all parts of a cluster: the newest numbers.
    case heads([Int: Int64])
    case damaged(next: Int64)
    case busy(Duration)
    case refused(String)

    init?(kind: [UInt8], _ bytes: [UInt8]) {
        guard let json = try? JSONDocument(bytes, depthLimit: 8), json.kind(json.root) == .object else { return nil }
        func integer(_ name: StaticString) -> Int64? { json.value(name, in: json.root).flatMap { json.integer($0) } }
        func text(_ name: StaticString) -> String? { json.value(name, in: json.root).flatMap { json.string($0) } }
        if kind == Array("replay-end/1".utf8) {
            if let list = json.value("next", in: json.root), json.kind(list) == .object {
                var heads: [Int: Int64] = [:]
                for member in json.members(list) {
                    guard let part = json.string(member.key).flatMap({ Int($0) }),
                        (0..<EventPosition.maxParts).contains(part), let number = json.integer(member.value),
                        number >= 0
                    else { return nil }
                    heads[part] = number
                }
                self = .heads(heads)
                return
            }
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
