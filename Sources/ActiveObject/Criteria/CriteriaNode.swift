import PushThread

/// A criterion as a tree. Chains of one operator are one node, however they were put together.
enum CriteriaNode<Record: ActiveRecord>: Sendable {
    enum Junction: Sendable {
        case and, or

        var other: Junction { self == .and ? .or : .and }
    }

    case constant(Bool)
    case condition(Condition<Record>)
    /// Of rows of another table.
    case related(RelatedTest<Record>)
    case chain(Junction, NodeList<Record>)
    /// Never around another `not`.
    indirect case not(CriteriaNode)
    /// What would be deeper than SQLite's parser goes. It holds nothing, so that there is no tree whose release would
    /// need more stack than a thread has; it is told when it is used.
    case tooDeep

    /// How often `and` and `or` may alternate on the way to a condition. SQLite's parser has 100 places on its stack,
    /// and each pair of parentheses takes three.
    static var depthLimit: Int { 20 }

    var depth: Int {
        switch self {
        case .constant, .condition, .related, .tooDeep: 0
        case .not(let node): node.depth
        case .chain(_, let list): list.depth
        }
    }

    /// Whether a column must hold one of some values.
    var isNarrowedByList: Bool {
        switch self {
        case .condition(let condition): if case .isIn = condition.test { true } else { false }
        case .chain(.and, let list): list.hasList
        case .constant, .related, .chain, .not, .tooDeep: false
        }
    }

    var negated: CriteriaNode {
        switch self {
        case .constant(let value): .constant(!value)
        case .not(let node): node
        case .tooDeep: .tooDeep
        case .condition, .related, .chain: .not(self)
        }
    }

    static func joined(_ one: CriteriaNode, _ other: CriteriaNode, by junction: Junction) -> CriteriaNode {
        switch (one, other) {
        case (.tooDeep, _), (_, .tooDeep): return .tooDeep
        case (.constant(let value), let rest), (let rest, .constant(let value)):
            // True changes nothing of an "and" and decides an "or".
            return value == (junction == .and) ? rest : .constant(value)
        case (.chain(junction, let list), .chain(junction, let more)): return .chain(junction, list.adding(more.nodes))
        // The order makes no difference to the result, and adding at the end does not copy.
        case (.chain(junction, let list), let node), (let node, .chain(junction, let list)):
            return node.depth < depthLimit ? .chain(junction, list.adding([node])) : .tooDeep
        default:
            guard max(one.depth, other.depth) < depthLimit else { return .tooDeep }
            return .chain(junction, NodeList([one, other]))
        }
    }
}

/// A list that shares its storage with the lists that it was made from: adding one by one, as `reduce` does, costs the
/// same for the last as for the first.
struct NodeList<Record: ActiveRecord>: Sendable {
    private struct Storage {
        var nodes: [CriteriaNode<Record>]
        /// Once a list is part of another, nothing is added to its storage any more: else what is added could hold that
        /// other list, and the two of them each other, for ever.
        var isSealed = false
    }

    private let storage: Locked<Storage>
    private let count: Int
    let depth: Int
    /// Whether one of them asks for one of some values.
    let hasList: Bool

    init(_ nodes: [CriteriaNode<Record>]) {
        for node in nodes { node.seal() }
        storage = Locked(Storage(nodes: nodes))
        count = nodes.count
        depth = 1 + (nodes.map(\.depth).max() ?? 0)
        hasList = nodes.contains(where: \.isNarrowedByList)
    }

    private init(storage: Locked<Storage>, count: Int, depth: Int, hasList: Bool) {
        self.storage = storage
        self.count = count
        self.depth = depth
        self.hasList = hasList
    }

    var nodes: [CriteriaNode<Record>] {
        storage.withLock { Array($0.nodes.prefix(count)) }
    }

    func adding(_ more: [CriteriaNode<Record>]) -> NodeList {
        for node in more { node.seal() }
        let isAdded = storage.withLock { storage in
            // Another list may have gone on from here: it has the place behind.
            guard !storage.isSealed, storage.nodes.count == count else { return false }
            storage.nodes.append(contentsOf: more)
            return true
        }
        guard isAdded else { return NodeList(nodes + more) }
        let depth = max(self.depth, 1 + (more.map(\.depth).max() ?? 0))
        let hasList = self.hasList || more.contains(where: \.isNarrowedByList)
        return NodeList(storage: storage, count: count + more.count, depth: depth, hasList: hasList)
    }

    fileprivate func seal() {
        storage.withLock { $0.isSealed = true }
    }
}

extension CriteriaNode {
    fileprivate func seal() {
        switch self {
        case .chain(_, let list): list.seal()
        case .not(let node): node.seal()
        case .constant, .condition, .related, .tooDeep: break
        }
    }
}
