/// The topics that requests used, each with a number. Records hold the number, and the name is parsed only once.
struct KnownTopics {
    struct Topic {
        var number: UInt16
        var isWellFormed: Bool
        /// The push type whose suffix the topic has.
        var suffix: PushType?
        /// The length of the bundle id before the suffix.
        var baseLength: Int
    }

    /// The number for requests without a topic.
    static let none: UInt16 = 0
    /// The number for all topics beyond the maximum.
    static let other: UInt16 = 1
    private static let maxTopics = 4096

    private var table = ByteTable<Topic>()
    private var names: [[UInt8]] = [[], Array("(other)".utf8)]

    mutating func topic(_ name: ByteView) -> Topic {
        if let known = table[name] { return known }
        var topic = Self.read(name)
        guard names.count < Self.maxTopics, name.count <= 255 else { return topic }
        topic.number = UInt16(names.count)
        let name = name.copied()
        names.append(name)
        table.set(topic, for: name)
        return topic
    }

    func name(_ number: UInt16) -> [UInt8] { names[Int(number)] }

    func number(of name: [UInt8]) -> UInt16? { table[name]?.number }

    private static func read(_ name: ByteView) -> Topic {
        let suffix = PushType(suffixOf: name)
        let suffixLength = suffix?.topicSuffix?.utf8CodeUnitCount ?? 0
        var isWellFormed = name.count > suffixLength && name.count <= 255
        for position in 0..<min(name.count, 255) where !(0x21...0x7e).contains(name[position]) { isWellFormed = false }
        return Topic(
            number: other, isWellFormed: isWellFormed, suffix: suffix, baseLength: name.count - suffixLength)
    }
}
