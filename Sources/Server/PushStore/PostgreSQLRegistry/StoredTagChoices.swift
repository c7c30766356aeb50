import PushLoop
import PushModel

/// How to find the devices that match a tag expression, for recent audiences. A plan counts tags, which costs more than
/// reading a page. The first page of an audience makes it. A plan that was forgotten is made again.
final class StoredTagChoices: Sendable {
    private struct Key: Hashable {
        let expression: TagExpression
        let app: AppID
    }

    /// The number of examined rows that cost as much as one device found through a tag.
    static let rowsForOne = 24
    private static let limit = 64
    private let known = Locked<[Key: TagPlan]>([:])

    /// - Parameter count: Returns how many devices have each tag, up to a bound, and that bound.
    func plan(
        for expression: TagExpression, app: AppID, isFirst: Bool,
        count: ([ExactText]) async throws -> (counts: [ExactText: Int], bound: Int)
    ) async throws -> TagPlan {
        let key = Key(expression: expression, app: app)
        if !isFirst, let plan = known.withLock({ $0[key] }) { return plan }
        let (costs, bound) = try await count(Array(expression.tags))
        let expression = expression.without { costs[$0] ?? 0 == 0 }
        let best = expression.drivers(isNegated: false) { costs[ExactText($0)] ?? bound + 1 }
        let choice: TagChoice =
            if let best, best.cost <= bound { .tags(best.tags.map(\.text).sorted()) } else { .everyRow }
        let plan = TagPlan(choice: choice, expression: expression)
        known.withLock { known in
            if known.count >= Self.limit { known = [:] }
            known[key] = plan
        }
        return plan
    }
}

extension TagExpression {
    /// All tags in the expression.
    var tags: Set<ExactText> {
        switch self {
        case .tag(let tag): [ExactText(tag)]
        case .all(let parts), .any(let parts): parts.reduce(into: []) { $0.formUnion($1.tags) }
        case .not(let part): part.tags
        }
    }

    /// The expression as a condition on the column `d.tags`. Appends its tags to the parameters, which begin with the
    /// given number.
    func condition(_ tags: inout [String], firstParameter: Int) -> String {
        switch self {
        case .tag(let tag):
            tags.append(tag)
            return "$\(firstParameter + tags.count - 1) = ANY(d.tags)"
        case .all(let parts):
            let conditions = parts.map { $0.condition(&tags, firstParameter: firstParameter) }
            return conditions.isEmpty ? "true" : "(\(conditions.joined(separator: " AND ")))"
        case .any(let parts):
            let conditions = parts.map { $0.condition(&tags, firstParameter: firstParameter) }
            return conditions.isEmpty ? "false" : "(\(conditions.joined(separator: " OR ")))"
        case .not(let part): return "NOT \(part.condition(&tags, firstParameter: firstParameter))"
        }
    }
}
