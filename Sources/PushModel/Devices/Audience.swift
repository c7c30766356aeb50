/// Whom a message is for.
package enum Audience: Hashable, Sendable {
    /// Tokens and device ids that are named twice count once.
    case tokens([DeviceToken])
    case devices([DeviceID])
    case users([String])
    case tags(TagExpression)
    case everyone

    /// How many a producer may name in one message.
    package static let maximumNamed = 100_000

    /// Whether the registry says who that is, and may say otherwise the next time.
    package var isDynamic: Bool {
        switch self {
        case .tokens, .devices: false
        case .users, .tags, .everyone: true
        }
    }

    /// How many are named; nil where the registry decides.
    package var named: Int? {
        switch self {
        case .tokens(let tokens): tokens.count
        case .devices(let devices): devices.count
        case .users, .tags, .everyone: nil
        }
    }
}
