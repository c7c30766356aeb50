import ActiveObject
import FoundationEssentials
import TestSupport

/// A record with a column of each kind, optional and not.
struct Sample: ActiveRecord, Equatable {
    enum Sex: String, Codable, CaseIterable { case female, male }
    enum Level: Int, Codable, CaseIterable, Comparable {
        case low = 1, middle = 5, high = 9

        static func < (one: Level, other: Level) -> Bool { one.rawValue < other.rawValue }
    }
    struct Point: Codable, Equatable, Comparable {
        var x: Int
        var note: String?

        static func < (one: Point, other: Point) -> Bool { one.x < other.x }
    }

    var objectId: Int64?
    var name = ""
    var nick: String?
    var age = 0
    var rank: Int8?
    var score = 0.0
    var ratio: Float?
    var isOn = false
    var born = Date(timeIntervalSinceReferenceDate: 0)
    var died: Date?
    var sex: Sex?
    var level = Level.low
    var token = UUID()
    var bytes: Data?
    var point: Point?

    static var columns: [Column<Sample>] { [Column(\.died, named: "died_at", dates: .iso8601)] }
    static var indexes: [Index<Sample>] { [Index(\.name), Index(\.nick), Index(\.age), Index(\.rank, \.score)] }
}

extension Sample {
    static let texts = [
        "", "a", "A", "ab", "aB", "Ab", "abc", "b%", "a_b", "a%b", "é", "z", "z\u{0}x", "z\u{0}y", "\u{0}", "\u{d7ff}",
        "\u{d7ff}q", "\u{e000}", "\u{10ffff}", "\u{10ffff}a", "a\u{10ffff}", "a\u{10ffff}b", "🦉", "it's \"so\" \\ \n",
        "@", "[",
    ]
    static let dates = [-1e9, 0, 0.125, 7e8, 7e8 + 0.5].map { Date(timeIntervalSinceReferenceDate: $0) }
    static let tokens = (0..<6).map { UUID(uuid: (UInt8($0 * 40), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)) }
    static let blobs = [Data(), Data([0]), Data([0, 255]), Data("a".utf8)]
    static let points = [Point(x: 1), Point(x: 1, note: "1"), Point(x: -2, note: "\"")]
    static let scores = [0, -0.0, 1.5, -1.5, .infinity, -.infinity, 1e300, Double.leastNonzeroMagnitude, 0.1]

    static func random(_ random: inout SeededRandom) -> Sample {
        func maybe<Value>(_ values: [Value], using random: inout SeededRandom) -> Value? {
            Int.random(in: 0..<3, using: &random) == 0 ? nil : values.randomElement(using: &random)
        }
        var sample = Sample()
        sample.name = texts.randomElement(using: &random) ?? ""
        sample.nick = maybe(texts, using: &random)
        sample.age = Int.random(in: -3...3, using: &random)
        sample.rank = maybe(Array(-2...2), using: &random)
        sample.score = scores.randomElement(using: &random) ?? 0
        sample.ratio = maybe([0.1, 0.5, -2], using: &random)
        sample.isOn = Bool.random(using: &random)
        sample.born = dates.randomElement(using: &random) ?? sample.born
        sample.died = maybe(dates, using: &random)
        sample.sex = maybe(Sex.allCases, using: &random)
        sample.level = Level.allCases.randomElement(using: &random) ?? .low
        sample.token = tokens.randomElement(using: &random) ?? sample.token
        sample.bytes = maybe(blobs, using: &random)
        sample.point = maybe(points, using: &random)
        return sample
    }
}
