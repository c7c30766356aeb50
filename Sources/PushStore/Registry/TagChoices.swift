import ActiveObject
import PushLoop
import PushModel

/// How to come to the devices of a tag expression.
enum TagChoice: Sendable, Equatable {
    /// From these tags: each device that is meant has one of them, and few have.
    case tags([String])
    /// Row by row.
    case everyRow

    /// To come from a tag costs for each device that has it as much as for this many rows to be looked at in turn.
    private static let rowsForOne = 24

    init(for expression: TagExpression, in snapshot: Snapshot) throws {
        let rows = Int(try Device.query.max(\.objectId, in: snapshot) ?? 0)
        let bound = rows / Self.rowsForOne
        var costs: [ExactText: Int] = [:]
        let choice = try expression.drivers(isNegated: false) { tag in
            if let known = costs[ExactText(tag)] { return known }
            // How many more does not matter, and to count them would cost.
            let cost = try DeviceTag.where(\.tag == tag).limit(bound + 1).count(in: snapshot)
            costs[ExactText(tag)] = cost
            return cost
        }
        self = if let choice, choice.cost <= bound { .tags(choice.tags.map(\.text).sorted()) } else { .everyRow }
    }
}

/// The choices of audiences under way: to make one is to count tags, which costs more than a page does. Either is right
/// for every page, so what is forgotten or has aged does no harm.
final class TagChoices: Sendable {
    private static let limit = 64
    private let known = Locked<[TagExpression: TagChoice]>([:])

    func choice(for expression: TagExpression, isFirst: Bool, in snapshot: Snapshot) throws -> TagChoice {
        if !isFirst, let choice = known.withLock({ $0[expression] }) { return choice }
        let choice = try TagChoice(for: expression, in: snapshot)
        known.withLock { known in
            if known.count >= Self.limit { known = [:] }
            known[expression] = choice
        }
        return choice
    }
}

extension TagExpression {
    /// As SQLite looks at it, row by row.
    var criteria: Criteria<Device> {
        switch self {
        case .tag(let tag): .has(Device.tags, where: \.tag == tag)
        case .all(let parts): .all(of: parts.map(\.criteria))
        case .any(let parts): .any(of: parts.map(\.criteria))
        case .not(let part): !part.criteria
        }
    }

    /// The cheapest set of tags of which every match has at least one; nil if matches need not have any.
    func drivers(
        isNegated: Bool, cost: (String) throws -> Int
    ) rethrows -> (tags: Set<ExactText>, cost: Int)? {
        switch (self, isNegated) {
        case (.tag(let tag), false):
            return ([ExactText(tag)], try cost(tag))
        case (.tag, true):
            return nil
        case (.not(let part), _):
            return try part.drivers(isNegated: !isNegated, cost: cost)
        case (.all(let parts), false), (.any(let parts), true):
            // One part will do.
            return try parts.compactMap { try $0.drivers(isNegated: isNegated, cost: cost) }.min { $0.cost < $1.cost }
        case (.any(let parts), false), (.all(let parts), true):
            // Of every part.
            var all: (tags: Set<ExactText>, cost: Int) = ([], 0)
            for part in parts {
                guard let some = try part.drivers(isNegated: isNegated, cost: cost) else { return nil }
                all.tags.formUnion(some.tags)
                all.cost += some.cost
            }
            return all
        }
    }
}
