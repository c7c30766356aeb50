package import PushModel
package import PushTime

/// A log that finds out for many messages at once when they were accepted.
package protocol AcceptanceLog: Sendable {
    /// Returns the times of the messages that were accepted since a time, by the clock of the log.
    func accepted(_ messages: [(app: AppID, id: MessageID)], since time: WallTime) async throws -> [MessageID: WallTime]
}

extension MessageHistory {
    /// Returns when messages were accepted. Those from before a time may be left out.
    package func accepted(
        _ messages: [(app: AppID, id: MessageID)], since time: WallTime
    ) async throws -> [MessageID: WallTime] {
        if messages.isEmpty { return [:] }
        if let log = log as? any AcceptanceLog { return try await log.accepted(messages, since: time) }
        var found: [MessageID: WallTime] = [:]
        for message in messages { found[message.id] = try await one(message.id, app: message.app).first?.acceptedAt }
        return found
    }
}
