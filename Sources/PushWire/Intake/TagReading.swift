import PushModel

/// Reads a tag expression: `"a"`, `{"all":[…]}`, `{"any":[…]}`, `{"not":…}`, one in the other.
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
            throw bad("\(json.kind(place).name) stands for no tags; write a tag, or an object of all, any or not")
        }
        guard depth < TagExpression.maximumDepth else {
            throw bad("tags are nested deeper than \(TagExpression.maximumDepth)")
        }
        guard json.size(place) == 1 else {
            throw bad("an expression of tags is exactly one of all, any or not; here it has \(json.size(place))")
        }
        let value = place + 2
        switch json.withUTF8(place + 1, { Self.operators.number(of: $0) }) {
        case 0: return .all(try parts("all", value, depth))
        case 1: return .any(try parts("any", value, depth))
        case 2: return .not(try expression(value, depth: depth + 1))
        default:
            throw bad("tags know no \"\(PayloadRules.name(json.string(place + 1) ?? ""))\"; they know all, any and not")
        }
    }

    private mutating func parts(
        _ name: String, _ list: IndexedJSON.Place, _ depth: Int
    ) throws(Rejection) -> [TagExpression] {
        guard json.kind(list) == .array else { throw bad("\(name) is \(json.kind(list).name), not an array") }
        let count = json.size(list)
        guard count > 0 else { throw bad("\(name) is empty") }
        // Each part has a tag or more.
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

    private func tooMany() -> Rejection { bad("more than \(TagExpression.maximumTags) tags are in one expression") }

    private func bad(_ detail: String) -> Rejection { Rejection(.badAudience, detail) }
}
