import PushWire

/// A place in the stream of events: everything up to it was taken.
///
/// The numbers of events of different topics may arrive in any order, so a place is more than one number: all events
/// up to ``base`` were taken, and of some topics those up to a higher number. In a cluster the log has several parts,
/// each with numbers of its own; the position itself is that of part 0, and the others are in ``parts``.
public struct EventPosition: Sendable, Hashable, CustomStringConvertible {
    /// All events up to this number were taken.
    public internal(set) var base: Int64
    /// The last number that was taken of a topic, where it is above ``base``.
    public internal(set) var topics: [String: Int64]
    /// In a cluster, the positions in the parts of the log from 1 on. A part that is missing is at its beginning.
    public internal(set) var parts: [Int: EventPosition] = [:]

    /// The largest number of parts of a log.
    static let maxParts = 256

    /// Creates the position after an event; 0 is the beginning.
    public init(after number: Int64 = 0) {
        base = max(0, number)
        topics = [:]
    }

    /// Creates a position from its text.
    ///
    /// - Returns: nil if the text is not that of a position.
    public init?(_ text: String) {
        guard Self.version(of: text) == nil, let json = try? JSONDocument(Array(text.utf8), depthLimit: 6) else {
            return nil
        }
        self.init(json, at: json.root)
        guard let list = json.value("parts", in: json.root) else { return }
        for member in json.members(list) {
            guard let part = json.string(member.key).flatMap({ Int($0) }), (1..<Self.maxParts).contains(part),
                let place = EventPosition(json, at: member.value)
            else { return nil }
            parts[part] = place
        }
    }

    /// Returns the version of a text that a later version of this library has written; nil for a text of this one.
    static func version(of text: String) -> Int64? {
        guard let json = try? JSONDocument(Array(text.utf8), depthLimit: 6),
            let version = json.value("v", in: json.root).flatMap({ json.integer($0) }), version > 1
        else { return nil }
        return version
    }

    private init?(_ json: JSONDocument, at position: JSONDocument.Position) {
        guard json.kind(position) == .object, let base = json.value("base", in: position),
            let number = json.integer(base), number >= 0
        else { return nil }
        self.init(after: number)
        guard let list = json.value("topics", in: position) else { return }
        for member in json.members(list) {
            guard let topic = json.string(member.key), let last = json.integer(member.value) else { return nil }
            if last > number { topics[topic] = last }
        }
    }

    /// The text, for storing the position: one line of JSON.
    public var description: String {
        var json = JSONWriter()
        json.object { members in
            write(to: &members)
            guard !parts.isEmpty else { return }
            members.key(plain: "parts")
            members.object { list in
                for (part, place) in parts.sorted(by: { $0.key < $1.key }) {
                    list.key("\(part)")
                    list.object { place.write(to: &$0) }
                }
            }
        }
        return String(decoding: json.bytes, as: UTF8.self)
    }

    private func write(to json: inout JSONWriter) {
        json.member("base", value: base)
        json.key(plain: "topics")
        json.object { list in
            for (topic, last) in topics.sorted(by: { $0.key < $1.key }) {
                list.key(topic)
                list.integer(last)
            }
        }
    }

    // MARK: Parts

    /// The position in a part of the log; for part 0, without the others.
    subscript(part part: Int) -> EventPosition {
        get {
            guard part == 0 else { return parts[part] ?? EventPosition() }
            var place = EventPosition(after: base)
            place.topics = topics
            return place
        }
        set {
            if part == 0 {
                (base, topics) = (newValue.base, newValue.topics)
            } else {
                parts[part] = newValue
            }
        }
    }

    func isMissing(_ number: Int64, of topic: String, inPart part: Int) -> Bool {
        part == 0 ? isMissing(number, of: topic) : (parts[part] ?? EventPosition()).isMissing(number, of: topic)
    }

    mutating func take(_ number: Int64, of topic: String, inPart part: Int) {
        if part == 0 { take(number, of: topic) } else { parts[part, default: EventPosition()].take(number, of: topic) }
    }

    mutating func raise(to number: Int64, inPart part: Int) {
        if part == 0 { raise(to: number) } else { parts[part, default: EventPosition()].raise(to: number) }
    }

    func base(ofPart part: Int) -> Int64 { part == 0 ? base : parts[part]?.base ?? 0 }
    func topicCount(ofPart part: Int) -> Int { part == 0 ? topics.count : parts[part]?.topics.count ?? 0 }
    func hasTopic(_ topic: String, inPart part: Int) -> Bool {
        part == 0 ? topics[topic] != nil : parts[part]?.topics[topic] != nil
    }

    /// The number after ``base``. A peer may send the largest number.
    var following: Int64 { base < .max ? base + 1 : base }

    /// Whether an event was not taken.
    func isMissing(_ number: Int64, of topic: String) -> Bool {
        number > base && number > topics[topic] ?? 0
    }

    mutating func take(_ number: Int64, of topic: String) {
        if number > base, number > topics[topic] ?? 0 { topics[topic] = number }
    }

    mutating func raise(to number: Int64) {
        guard number > base else { return }
        base = number
        if topics.contains(where: { $0.value <= number }) { topics = topics.filter { $0.value > number } }
    }
}
