import PushModel
package import PushStore

/// Knows what holds up messages that are not completed.
package protocol MessageObstacles: Sendable {
    /// Returns what holds up a message; nil if nothing does, or if it is not known.
    func obstacle(of message: MessageSummary) async -> MessageObstacle?
}

/// Adds to a message why it has not gone out, or not to all of its devices.
struct ObstacleSearch: Sendable {
    let devices: any DeviceDirectory
    /// Nil if no server runs: the files of a stopped one say nothing about what it waits for.
    let live: (any MessageObstacles)?

    /// The maximum number of users whose devices are looked up.
    private static let maxUsers = 10
    /// The maximum number of devices of a user that are looked at.
    private static let maxDevices = 100

    func explained(_ message: MessageSummary) async -> MessageSummary {
        var explained = message
        switch message.state {
        case .waiting, .sending: explained.obstacle = await live?.obstacle(of: message)
        case .cancelled where message.counts.total == 0 && message.completedAt != nil:
            explained.obstacle = MessageObstacle(.cancelled, "it was cancelled before its devices were looked up")
        case .completed where message.counts.total == 0:
            explained.obstacle = MessageObstacle(.noDevices, await absence(of: message))
        case .completed, .cancelled, .expired, .rejected: break
        }
        return explained
    }

    /// Describes why a message had no devices, from what the registry has now.
    private func absence(of message: MessageSummary) async -> String {
        let none = "its audience had no active device"
        guard let app = AppID(message.app), let users = message.request.users, !users.isEmpty else { return none }
        var parts: [String] = []
        for user in users.prefix(Self.maxUsers) {
            var filter = DeviceFilter()
            (filter.app, filter.user) = (app, user)
            guard let found = try? await devices.list(filter, after: nil, limit: Self.maxDevices) else { return none }
            parts.append(Self.sentence(user, found.devices))
        }
        return "\(none); now \(parts.joined(separator: "; "))"
    }

    private static func sentence(_ user: String, _ devices: [DeviceRecord]) -> String {
        let inactive = devices.filter { !$0.isActive }
        if devices.isEmpty { return "the user \(user) has no device" }
        let active = devices.count - inactive.count
        guard let last = inactive.max(by: { ($0.deactivatedAt ?? .distantPast) < ($1.deactivatedAt ?? .distantPast) })
        else { return "the user \(user) has \(active) active" }
        let why = [last.reason, last.deactivatedAt?.iso8601].compactMap(\.self).joined(separator: ", ")
        return "the user \(user) has \(active) active and \(inactive.count) inactive" + (why.isEmpty ? "" : " (\(why))")
    }
}
