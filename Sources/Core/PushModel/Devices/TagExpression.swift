/// A condition on the tags of a device, which selects devices of an app.
package indirect enum TagExpression: Hashable, Sendable {
    /// The largest nesting of `all`, `any` and `not`. Deeper expressions are rejected at intake because the registry
    /// could not evaluate them: SQLite's parser limits the depth, a list of more than 32 parts takes one more level,
    /// and ``maxTags`` allow seven such lists.
    package static let maxDepth = 8
    /// The largest number of tags in one expression.
    package static let maxTags = 256

    case tag(String)
    case all([TagExpression])
    case any([TagExpression])
    case not(TagExpression)

    /// Compares tags by their bytes, as the registry does.
    package static func == (one: TagExpression, other: TagExpression) -> Bool {
        switch (one, other) {
        case (.tag(let one), .tag(let other)): one.isExactly(other)
        case (.all(let one), .all(let other)), (.any(let one), .any(let other)): one == other
        case (.not(let one), .not(let other)): one == other
        default: false
        }
    }

    package func hash(into hasher: inout Hasher) {
        switch self {
        case .tag(let tag):
            hasher.combine(0)
            tag.hashExactly(into: &hasher)
        case .all(let parts):
            hasher.combine(1)
            hasher.combine(parts)
        case .any(let parts):
            hasher.combine(2)
            hasher.combine(parts)
        case .not(let part):
            hasher.combine(3)
            hasher.combine(part)
        }
    }
}
