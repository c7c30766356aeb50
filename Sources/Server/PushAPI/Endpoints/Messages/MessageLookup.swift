import PushModel
import PushStore

/// Looks up one message of an app, or those of a family.
struct MessageLookup: Sendable {
    let obstacles: ObstacleSearch
    let apps: AppCatalog
    private let history: MessageHistory

    init(history: MessageHistory, obstacles: ObstacleSearch, apps: AppCatalog) {
        (self.history, self.obstacles, self.apps) = (history, obstacles, apps)
    }

    /// Returns the messages with this id: one for each app that had such a message.
    func one(_ id: MessageID, app: AppID?) async throws -> [MessageSummary] {
        try await history.one(id, app: app)
    }

    /// Returns the message of an app; of a family the sum of those of its members, with each of them.
    func message(_ id: MessageID, of app: AppID, for caller: Caller) async throws -> MessageSummary {
        guard let family = try apps.family(app, for: caller) else {
            guard let message = try await one(id, app: app).first else { throw FindMessage.unknown(id) }
            return await obstacles.explained(message)
        }
        var members: [MessageSummary] = []
        for member in family.members {
            guard let message = try await one(id, app: member).first else { continue }
            members.append(await obstacles.explained(message))
        }
        guard let sum = MessageSummary(of: family.name, members: members) else { throw FindMessage.unknown(id) }
        return sum
    }
}
