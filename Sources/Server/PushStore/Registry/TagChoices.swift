import ActiveObject
import PushLoop
import PushModel

/// A way to find the devices that match a tag expression.
enum TagChoice: Sendable, Equatable {
    /// Through these tags: each matching device has one of them, and few devices have.
    case tags([String])
    /// By examining every row.
    case everyRow

    /// The number of examined rows that cost as much as one device found through a tag.
    private static let rowsForOne = 24

    init(for expression: TagExpression, in snapshot: Snapshot) throws {
        let rows = Int(try Device.query.max(\.objectId, in: snapshot) ?? 0)
        let bound = rows / Self.rowsForOne
        var costs: [ExactText: Int] = [:]
        let choice = try expression.drivers(isNegated: false) { tag in
            if let known = costs[ExactText(tag)] { return known }
            // The exact count above the bound does not matter, and counting would cost time.
            let cost = try DeviceTag.where(\.tag == tag).limit(bound + 1).count(in: snapshot)
            costs[ExactText(tag)] = cost
            return cost
        }
        self = if let choice, choice.cost <= bound { .tags(choice.tags.map(\.text).sorted()) } else { .everyRow }
    }
}

extension TagPlan {
    init(for expression: TagExpression, in snapshot: Snapshot) throws {
        let absent = try expression.tags.filter { tag in
            try DeviceTag.where(\.tag == tag.text).limit(1).count(in: snapshot) == 0
        }
        let expression = expression.without { absent.contains($0) }
        self.init(choice: try TagChoice(for: expression, in: snapshot), expression: expression)
    }
}

/// The plans for recent audiences. A plan counts tags, which costs more than reading a page. The first page of an
/// audience makes it. A plan that was forgotten is made again.
final class TagChoices: Sendable {
    private static let limit = 64
    private let known = Locked<[TagExpression: TagPlan]>([:])

    func plan(for expression: TagExpression, isFirst: Bool, in snapshot: Snapshot) throws -> TagPlan {
        if !isFirst, let plan = known.withLock({ $0[expression] }) { return plan }
        let plan = try TagPlan(for: expression, in: snapshot)
        known.withLock { known in
            if known.count >= Self.limit { known = [:] }
            known[expression] = plan
        }
        return plan
    }
}

extension TagExpression {
    /// The expression as a condition that SQLite evaluates for each row.
    var criteria: Criteria<Device> {
        switch self {
        case .tag(let tag): .has(Device.tags, where: \.tag == tag)
        case .all(let parts): .all(of: parts.map(\.criteria))
        case .any(let parts): .any(of: parts.map(\.criteria))
        case .not(let part): !part.criteria
        }
    }

    /// Returns the cheapest set of tags so that each match has at least one of them; nil if a match may have none.
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
            // One part is enough.
            return try parts.compactMap { try $0.drivers(isNegated: isNegated, cost: cost) }.min { $0.cost < $1.cost }
        case (.any(let parts), false), (.all(let parts), true):
            // Every part is needed.
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
