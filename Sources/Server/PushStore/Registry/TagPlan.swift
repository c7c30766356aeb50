import PushModel

/// How to answer one question for the devices that match a tag expression: the way to find them, and the expression
/// without the tags that no device had when the question began.
struct TagPlan: Sendable {
    let choice: TagChoice
    let expression: TagExpression
}

extension TagExpression {
    /// Whether no device matches, whatever its tags.
    var isNever: Bool { self == .any([]) }

    private var isAlways: Bool { self == .all([]) }

    /// Returns an expression that the same devices match, without the tags that none of them has.
    func without(_ isAbsent: (ExactText) -> Bool) -> TagExpression {
        switch self {
        case .tag(let tag): return isAbsent(ExactText(tag)) ? .any([]) : self
        case .not(let part):
            let part = part.without(isAbsent)
            return part.isNever ? .all([]) : part.isAlways ? .any([]) : .not(part)
        case .all(let parts):
            let left = parts.map { $0.without(isAbsent) }.filter { !$0.isAlways }
            return left.contains(where: \.isNever) ? .any([]) : .all(left)
        case .any(let parts):
            let left = parts.map { $0.without(isAbsent) }.filter { !$0.isNever }
            return left.contains(where: \.isAlways) ? .all([]) : .any(left)
        }
    }
}

/// An expression of many tags, which is evaluated for devices whose tags were read.
///
/// SQLite would search the tags of each device once for each tag of the expression.
struct TagTest: Sendable {
    private indirect enum Node: Sendable {
        case tag(Int)
        case all([Node])
        case any([Node])
        case not(Node)
    }

    private var numbers: [ExactText: Int] = [:]
    private var root = Node.all([])

    init(_ expression: TagExpression) {
        root = node(expression)
    }

    private mutating func node(_ expression: TagExpression) -> Node {
        switch expression {
        case .tag(let tag):
            let number = numbers[ExactText(tag)] ?? numbers.count
            numbers[ExactText(tag)] = number
            return .tag(number)
        case .all(let parts): return .all(parts.map { node($0) })
        case .any(let parts): return .any(parts.map { node($0) })
        case .not(let part): return .not(node(part))
        }
    }

    func matches(_ tags: some Sequence<String>) -> Bool {
        var isThere = [Bool](repeating: false, count: numbers.count)
        for tag in tags {
            if let number = numbers[ExactText(tag)] { isThere[number] = true }
        }
        return Self.matches(root, isThere)
    }

    private static func matches(_ node: Node, _ isThere: [Bool]) -> Bool {
        switch node {
        case .tag(let number): isThere[number]
        case .all(let parts): parts.allSatisfy { matches($0, isThere) }
        case .any(let parts): parts.contains { matches($0, isThere) }
        case .not(let part): !matches(part, isThere)
        }
    }
}
