/// Which devices of an app a message is for, by their tags.
package indirect enum TagExpression: Hashable, Sendable {
    /// Deeper ones are refused where they come in.
    package static let maximumDepth = 16
    /// In one expression.
    package static let maximumTags = 256

    case tag(String)
    case all([TagExpression])
    case any([TagExpression])
    case not(TagExpression)

    package func matches(_ tags: Set<String>) -> Bool {
        switch self {
        case .tag(let tag): tags.contains(tag)
        case .all(let parts): parts.allSatisfy { $0.matches(tags) }
        case .any(let parts): parts.contains { $0.matches(tags) }
        case .not(let part): !part.matches(tags)
        }
    }
}
