import PushThread

/// A criterion as a tree. A chain of one operator is one node, however it was composed.
enum CriteriaNode<Record: ActiveRecord>: Sendable {
    enum Junction: Sendable {
        case and, or

        var other: Junction { self == .and ? .or : .and }
    }

    case constant(Bool)
    case condition(Condition<Record>)
    /// A test of rows in another table.
    case related(RelatedTest<Record>)
    case chain(Junction, NodeList<Record>)
    /// Never contains another `not`.
    indirect case not(CriteriaNode)
    /// A criterion that is deeper than SQLite's parser allows; using it throws. It has no children, because releasing a
    /// very deep tree could overflow the stack of a thread.
    case tooDeep

    /// The number of times that `and` and `or` can alternate on the way to a condition. SQLite's parser has a stack of
    /// 100 entries, and each pair of parentheses uses three.
    static var maxDepth: Int { 20 }

    var depth: Int {
        switch self {
        case .constant, .condition, .related, .tooDeep: 0
        case .not(let node): node.depth
        case .chain(_, let list): list.depth
        }
    }

    /// Whether a column must have one of several values.
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

    func joined(with other: CriteriaNode, by junction: Junction) -> CriteriaNode {
        switch (self, other) {
        case (.tooDeep, _), (_, .tooDeep): return .tooDeep
        case (.constant(let value), let rest), (let rest, .constant(let value)):
            // True is neutral in an "and" and decides an "or".
            return value == (junction == .and) ? rest : .constant(value)
        case (.chain(junction, let list), .chain(junction, let more)): return .chain(junction, list.adding(more.nodes))
        // The order of operands does not affect the result, and appending does not copy.
        case (.chain(junction, let list), let node), (let node, .chain(junction, let list)):
            return node.depth < Self.maxDepth ? .chain(junction, list.adding([node])) : .tooDeep
        default:
            guard max(depth, other.depth) < Self.maxDepth else { return .tooDeep }
            return .chain(junction, NodeList([self, other]))
        }
    }
}

/// A list that shares its storage with the lists from which it was made, so that appending one by one, as `reduce`
/// does, takes constant time.
struct NodeList<Record: ActiveRecord>: Sendable {
    private struct Storage {
        var nodes: [CriteriaNode<Record>]
        /// Set when the list is part of another list. Nothing is appended to the storage after that, because an
        /// appended node could contain the other list, and the two would retain each other forever.
        var isSealed = false
    }

    private let storage: Locked<Storage>
    private let count: Int
    let depth: Int
    /// Whether one of the nodes tests for one of several values.
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
            // Another list may have appended to the same storage already.
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
