package import PushModel
package import PushTime
import PushWire

/// The history of messages, computed from the kept events: of one message, or of the latest ones.
package struct MessageHistory: Sendable {
    /// The number of events after which a request stops reading and answers with the messages found so far.
    package static let maxScanned = 200_000

    package let log: any EventLog
    /// The maximum number of events after a page that are read to complete its messages. If there are more, the log is
    /// queried for each message of the page instead.
    package let nearby: UInt64

    package init(log: any EventLog, nearby: UInt64 = 200_000) {
        self.log = log
        self.nearby = nearby
    }

    package struct Filter: Sendable {
        package var app: AppID?
        package var states: Set<MessageSummary.State> = []
        /// Only messages whose audience names this user.
        package var user: String?
        /// Only messages to the Live Activity with this name.
        package var activity: String?
        /// The span in which the message was accepted, including both ends.
        package var since: WallTime?
        package var until: WallTime?

        package init() {}
    }

    /// Returns a page of messages, the latest first. If `before` is not nil, only messages with a lower number are
    /// listed. In a cluster it has a number for each part that earlier pages have reached; 1 if they have reached its
    /// beginning.
    package func page(_ filter: Filter, before: LogPosition?, limit: Int) async throws -> MessagePage {
        guard log.partCount > 1 else { return try await list(filter, before: before?[0], limit: limit) }
        let bounds = try await log.bounds()
        let maxScanned = max(1000, Self.maxScanned / max(1, bounds.count))
        var pages: [MessageListing.Page] = []
        var next = LogPosition()
        for (part, bounds) in bounds.enumerated() {
            let start = before.flatMap { $0[part] > 0 ? log.number(of: part, at: $0) : nil }
            let walk = LogBackwards(log, part: part, bounds, from: start, stretch: 500)
            let listing = MessageListing(
                self, filter, before: start, limit: limit, walk, maxScanned: maxScanned)
            pages.append(try await listing.read())
            next[part] = before?[part] ?? 0
        }
        // The messages of each part are merged by their times.
        var taken = bounds.map { _ in 0 }
        var messages: [MessageSummary] = []
        func time(_ part: Int) -> WallTime { pages[part].messages[taken[part]].summary.acceptedAt ?? .distantPast }
        while messages.count < limit,
            let part = pages.indices.filter({ taken[$0] < pages[$0].messages.count }).max(by: { time($0) < time($1) })
        {
            let (place, message) = pages[part].messages[taken[part]]
            messages.append(message)
            taken[part] += 1
            next[part] = EventNumber.within(place)
        }
        var hasMore = false
        for (part, page) in pages.enumerated() {
            if taken[part] == page.messages.count { next[part] = page.next.map { EventNumber.within($0) } ?? 1 }
            if taken[part] < page.messages.count || page.next != nil { hasMore = true }
        }
        return MessagePage(messages: messages, next: hasMore ? next.description : nil)
    }

    /// Returns a page of the only part of a log.
    package func list(_ filter: Filter, before: UInt64?, limit: Int) async throws -> MessagePage {
        let walk = LogBackwards(log, from: before)
        let page = try await MessageListing(
            self, filter, before: before, limit: limit, walk, maxScanned: Self.maxScanned
        ).read()
        return MessagePage(messages: page.messages.map(\.summary), next: page.next.map { "\($0)" })
    }

    /// Returns the messages with this id: one for each app that had such a message. A rejected one that named no app is
    /// returned if there is no other.
    package func one(_ id: MessageID, app: AppID?) async throws -> [MessageSummary] {
        let segments = try await log.trace(.message(id, app: app), limit: TraceSearch.maxAsked)
        let wanted = Array(id.text.utf8)
        var isWhole = TraceSearch.isComplete(segments)
        var tallies: [AppID?: MessageTally] = [:]
        for segment in segments {
            do {
                try segment.entries { entry in
                    guard entry.concerns(wanted) else { return true }
                    let eventApp = entry.app
                    guard app == nil || eventApp == app else { return true }
                    tallies[eventApp, default: MessageTally()].add(entry)
                    return true
                }
            } catch {
                isWhole = false
            }
        }
        if tallies.count > 1 { tallies.removeValue(forKey: nil) }
        return tallies.map { $1.answer(app: $0?.name ?? "-", id: id.text, isWhole: isWhole) }
            .sorted { $0.app < $1.app }
    }
}
