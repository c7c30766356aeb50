import PushModel
import PushText

/// A parser of tag expressions: `"a"`, `{"all":[…]}`, `{"any":[…]}`, `{"not":…}`, nested in each other.
struct TagReading {
    private static let maxTagLength = 128
    private static let operators = WordTable(["all", "any", "not"])

    private let json: IndexedJSON
    private var tags = 0

    init(_ json: IndexedJSON) {
        self.json = json
    }

    mutating func expression(_ position: IndexedJSON.Position) throws(Rejection) -> TagExpression {
        try expression(position, depth: 0)
    }

    private mutating func expression(_ position: IndexedJSON.Position, depth: Int) throws(Rejection) -> TagExpression {
        if json.kind(position).isString { return .tag(try tag(position)) }
        guard json.kind(position) == .object else {
            throw bad(
                "\(json.kind(position).name) is not a tag expression; give a tag or an object with all, any or not")
        }
        guard depth < TagExpression.maxDepth else {
            throw bad("the tag expression is nested deeper than \(TagExpression.maxDepth) levels")
        }
        guard json.size(position) == 1 else {
            throw bad("a tag expression must have exactly one of all, any and not; it has \(json.size(position)) keys")
        }
        let value = position + 2
        switch json.withUTF8(of: position + 1, { Self.operators.number(of: $0) }) {
        case 0: return .all(try parts(of: "all", at: value, depth: depth))
        case 1: return .any(try parts(of: "any", at: value, depth: depth))
        case 2: return .not(try expression(value, depth: depth + 1))
        default:
            throw bad("tags have no key \"\(PlainText.name(json.string(position + 1) ?? ""))\"; use all, any or not")
        }
    }

    private mutating func parts(
        of name: String, at list: IndexedJSON.Position, depth: Int
    ) throws(Rejection) -> [TagExpression] {
        guard json.kind(list) == .array else { throw bad("\(name) is \(json.kind(list).name), not an array") }
        let count = json.size(list)
        guard count > 0 else { throw bad("\(name) is empty") }
        // Each part has at least one tag.
        guard count <= TagExpression.maxTags else { throw tooMany() }
        var parts: [TagExpression] = []
        parts.reserveCapacity(count)
        var position = list + 1
        for _ in 0..<count {
            parts.append(try expression(position, depth: depth + 1))
            position = json.next(position)
        }
        return parts
    }

    private mutating func tag(_ position: IndexedJSON.Position) throws(Rejection) -> String {
        tags += 1
        guard tags <= TagExpression.maxTags else { throw tooMany() }
        let tag = json.string(position) ?? ""
        guard (1...Self.maxTagLength).contains(tag.utf8.count) else {
            throw bad("a tag is \(tag.utf8.count) bytes; 1 to \(Self.maxTagLength) are allowed")
        }
        guard !ControlCharacters.occur(in: tag.utf8) else {
            throw bad("a tag has a control character, which no registered tag has")
        }
        return tag
    }

    private func tooMany() -> Rejection { bad("the tag expression has more than \(TagExpression.maxTags) tags") }

    private func bad(_ detail: String) -> Rejection { Rejection(.badAudience, detail: detail) }
}
