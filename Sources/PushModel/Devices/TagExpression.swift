/// Which devices of an app a message is for, by their tags.
package indirect enum TagExpression: Hashable, Sendable {
    /// Levels of all, any and not. Deeper ones are refused where they come in, because the registry could not answer them:
    /// SQLite's parser has a bound, lists of more than 32 take a level more, and `maximumTags` make seven such lists.
    package static let maximumDepth = 8
    /// In one expression.
    package static let maximumTags = 256

    case tag(String)
    case all([TagExpression])
    case any([TagExpression])
    case not(TagExpression)

    /// Tags are compared by their bytes, as the registry does.
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

    package func matches(_ tags: Set<String>) -> Bool {
        switch self {
        case .tag(let tag): tags.contains { $0.isExactly(tag) }
        case .all(let parts): parts.allSatisfy { $0.matches(tags) }
        case .any(let parts): parts.contains { $0.matches(tags) }
        case .not(let part): !part.matches(tags)
        }
    }
}
