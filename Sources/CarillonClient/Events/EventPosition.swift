import PushWire

/// A place in the stream of events: everything up to it was taken.
///
/// The numbers of events of different topics may arrive in any order, so a place is more than one number: all events
/// up to ``base`` were taken, and of some topics those up to a higher number.
public struct EventPosition: Sendable, Hashable, CustomStringConvertible {
    /// All events up to this number were taken.
    public internal(set) var base: Int64
    /// The last number that was taken of a topic, where it is above ``base``.
    public internal(set) var topics: [String: Int64]

    /// Creates the position after an event; 0 is the beginning.
    public init(after number: Int64 = 0) {
        base = max(0, number)
        topics = [:]
    }

    /// Creates a position from its text.
    ///
    /// - Returns: nil if the text is not that of a position.
    public init?(_ text: String) {
        guard let json = try? JSONDocument(Array(text.utf8), depthLimit: 4),
            let base = json.value("base", in: json.root),
            let number = json.integer(base), number >= 0
        else { return nil }
        self.init(after: number)
        guard let list = json.value("topics", in: json.root) else { return }
        for member in json.members(list) {
            guard let topic = json.string(member.key), let last = json.integer(member.value) else { return nil }
            if last > number { topics[topic] = last }
        }
    }

    /// The text, for storing the position: one line of JSON.
    public var description: String {
        var json = JSONWriter()
        json.beginObject()
        json.member("base", value: base)
        json.key(plain: "topics")
        json.beginObject()
        for (topic, last) in topics.sorted(by: { $0.key < $1.key }) {
            json.key(topic)
            json.integer(last)
        }
        json.endObject()
        json.endObject()
        return String(decoding: json.bytes, as: UTF8.self)
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
