import PushModel

/// A parser of tag expressions: `"a"`, `{"all":[…]}`, `{"any":[…]}`, `{"not":…}`, nested in each other.
struct TagReading {
    private static let longestTag = 128
    private static let operators = WordTable(["all", "any", "not"])

    private let json: IndexedJSON
    private var tags = 0

    init(_ json: IndexedJSON) {
        self.json = json
    }

    mutating func expression(_ place: IndexedJSON.Place) throws(Rejection) -> TagExpression {
        try expression(place, depth: 0)
    }

    private mutating func expression(_ place: IndexedJSON.Place, depth: Int) throws(Rejection) -> TagExpression {
        if json.kind(place).isString { return .tag(try tag(place)) }
        guard json.kind(place) == .object else {
            throw bad("\(json.kind(place).name) is not a tag expression; give a tag or an object with all, any or not")
        }
        guard depth < TagExpression.maximumDepth else {
            throw bad("the tag expression is nested deeper than \(TagExpression.maximumDepth) levels")
        }
        guard json.size(place) == 1 else {
            throw bad("a tag expression must have exactly one of all, any and not; it has \(json.size(place)) keys")
        }
        let value = place + 2
        switch json.withUTF8(place + 1, { Self.operators.number(of: $0) }) {
        case 0: return .all(try parts("all", value, depth))
        case 1: return .any(try parts("any", value, depth))
        case 2: return .not(try expression(value, depth: depth + 1))
        default:
            throw bad("tags have no key \"\(PayloadRules.name(json.string(place + 1) ?? ""))\"; use all, any or not")
        }
    }

    private mutating func parts(
        _ name: String, _ list: IndexedJSON.Place, _ depth: Int
    ) throws(Rejection) -> [TagExpression] {
        guard json.kind(list) == .array else { throw bad("\(name) is \(json.kind(list).name), not an array") }
        let count = json.size(list)
        guard count > 0 else { throw bad("\(name) is empty") }
        // Each part has at least one tag.
        guard count <= TagExpression.maximumTags else { throw tooMany() }
        var parts: [TagExpression] = []
        parts.reserveCapacity(count)
        var place = list + 1
        for _ in 0..<count {
            parts.append(try expression(place, depth: depth + 1))
            place = json.next(place)
        }
        return parts
    }

    private mutating func tag(_ place: IndexedJSON.Place) throws(Rejection) -> String {
        tags += 1
        guard tags <= TagExpression.maximumTags else { throw tooMany() }
        let tag = json.string(place) ?? ""
        guard (1...Self.longestTag).contains(tag.utf8.count) else {
            throw bad("a tag is \(tag.utf8.count) bytes; 1 to \(Self.longestTag) are allowed")
        }
        return tag
    }

    private func tooMany() -> Rejection { bad("the tag expression has more than \(TagExpression.maximumTags) tags") }

    private func bad(_ detail: String) -> Rejection { Rejection(.badAudience, detail) }
}
