/// The devices that a message is for.
package enum Audience: Hashable, Sendable {
    /// Duplicate tokens and device ids count once.
    case tokens([Address])
    case devices([DeviceID])
    case users([String])
    case tags(TagExpression)
    case everyone
    /// The addresses that update these Live Activities, by the names of the activities.
    case activities([String])

    /// The largest number of names in one message.
    package static let maxNames = 100_000
    /// The largest number of activities in one message, each of which becomes a message of its own.
    package static let maxActivities = 1000

    /// Whether the registry determines the devices, which may differ at the next look.
    package var isDynamic: Bool {
        switch self {
        case .tokens, .devices: false
        case .users, .tags, .everyone, .activities: true
        }
    }

    /// Whether it names Live Activities.
    package var isOfActivities: Bool {
        if case .activities = self { true } else { false }
    }

    /// The number of devices, users or Live Activities that it names; the largest number if it names none.
    var nameCount: Int {
        switch self {
        case .tokens(let tokens): tokens.count
        case .devices(let devices): devices.count
        case .users(let names), .activities(let names): names.count
        case .tags, .everyone: .max
        }
    }

    /// The number of devices that are named; nil if the registry determines them.
    package var named: Int? {
        switch self {
        case .tokens(let tokens): tokens.count
        case .devices(let devices): devices.count
        case .users, .tags, .everyone, .activities: nil
        }
    }

    /// The approximate number of bytes in memory.
    package var size: Int {
        switch self {
        case .tokens(let tokens): tokens.reduce(0) { $0 + 48 + max(0, $1.byteCount - 32) }
        case .devices(let devices): devices.count * 16
        case .users(let names), .activities(let names): names.reduce(0) { $0 + 32 + $1.utf8.count }
        case .tags, .everyone: 512
        }
    }
}
