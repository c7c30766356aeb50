package import PushModel
package import PushTime
import PushWire

/// The history of messages, computed from the kept events: of one message, or of the latest ones.
package struct MessageHistory: Sendable {
    /// The number of events after which a request stops reading and answers with the messages found so far.
    package static let mostScanned = 200_000

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
        /// The span in which the message was accepted, including both ends.
        package var since: WallTime?
        package var until: WallTime?

        package init() {}

        package func takes(_ message: MessageSummary) -> Bool {
            if !states.isEmpty, !states.contains(message.state) { return false }
            if let user, message.request.users?.contains(user) != true { return false }
            guard since != nil || until != nil else { return true }
            guard let time = message.acceptedAt else { return false }
            return time >= since ?? .distantPast && time <= until ?? .distantFuture
        }
    }

    private struct Name: Hashable {
        let app: AppID?
        let id: String
    }

    private typealias Tallies = [Name: MessageTally]

    /// Returns a page of messages, the latest first. If `before` is not nil, only messages with a lower number are
    /// listed. In a cluster it has a number for each part that earlier pages have reached; 1 if they have reached its
    /// beginning.
    package func page(_ filter: Filter, before: LogPosition?, limit: Int) async throws -> MessagePage {
        guard log.partCount > 1 else { return try await list(filter, before: before?[0], limit: limit) }
        let bounds = try await log.bounds()
        let mostScanned = max(1000, Self.mostScanned / max(1, bounds.count))
        var pages: [PartPage] = []
        var next = LogPosition()
        for (part, bounds) in bounds.enumerated() {
            let start = before.flatMap { $0[part] > 0 ? log.number(of: part, at: $0) : nil }
            let walk = LogBackwards(log, part: part, bounds, from: start, stretch: 500)
            pages.append(try await list(filter, before: start, limit: limit, walk, mostScanned: mostScanned))
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

    /// A page of one part.
    private struct PartPage {
        var messages: [(place: UInt64, summary: MessageSummary)] = []
        /// The number below which the next page begins; nil if there are no more messages.
        var next: UInt64?
    }

    /// Returns a page of the only part of a log.
    package func list(_ filter: Filter, before: UInt64?, limit: Int) async throws -> MessagePage {
        let walk = LogBackwards(log, from: before)
        let page = try await list(filter, before: before, limit: limit, walk, mostScanned: Self.mostScanned)
        return MessagePage(messages: page.messages.map(\.summary), next: page.next.map { "\($0)" })
    }

    private func list(
        _ filter: Filter, before: UInt64?, limit: Int, _ walk: LogBackwards, mostScanned: Int
    ) async throws -> PartPage {
        var backwards = walk
        var page = PartPage()
        var tallies: Tallies = [:]
        var listed: Set<Name> = []
        // The outcomes of messages on this page may be after the position where the page begins.
        var asksForEach = false
        if let before {
            try await backwards.begin()
            asksForEach = backwards.newest > before && backwards.newest - before > nearby
            if !asksForEach {
                try await read(since: before - min(before, 1), upTo: backwards.newest, filter, into: &tallies)
            }
        }
        while backwards.scanned < mostScanned, let segments = try await backwards.next() {
            var names: Set<Name> = []
            for segment in segments {
                // A damaged segment is skipped.
                try? segment.entries(since: backwards.low) { entry in
                    let event = entry.event
                    guard event.seq <= backwards.high else { return false }
                    let name = Self.add(entry, filter: filter, to: &tallies)
                    if let name, event.kind == .messageAccepted || event.kind == .messageRejected {
                        names.insert(name)
                    }
                    return true
                }
            }
            let found = names.subtracting(listed)
                .map { (name: $0, place: tallies[$0]?.place ?? 0) }.sorted { $0.place > $1.place }
            for (name, place) in found {
                listed.insert(name)
                // A message that was accepted again later was on an earlier page.
                if let before, place >= before { continue }
                var answer = tallies[name]!.answer(app: name.app?.name ?? "-", id: name.id)
                if asksForEach, let id = MessageID(name.id) {
                    answer = try await one(id, app: name.app).first ?? answer
                }
                guard filter.takes(answer) else { continue }
                page.messages.append((place, answer))
                if page.messages.count == limit {
                    page.next = place
                    return page
                }
            }
            // All earlier events were accepted before `since`.
            if let since = filter.since, let first = segments.first, first.time < since { return page }
        }
        page.next = backwards.isAtBeginning ? nil : backwards.low + 1
        return page
    }

    private func read(
        since: UInt64, upTo newest: UInt64, _ filter: Filter, into tallies: inout Tallies
    ) async throws {
        var at = since
        while at < newest {
            let page = try await log.read(since: at, limit: 5000)
            guard let last = page.segments.last, last.last > at else { return }
            for segment in page.segments {
                // Acceptances in these events belong to messages of earlier pages. They count for the same message.
                try? segment.entries(since: since) { entry in
                    _ = Self.add(entry, filter: filter, to: &tallies)
                    return true
                }
            }
            at = last.last
        }
    }

    /// Adds the event to the tally of its message and returns the message, or nil if the event is not of a message that
    /// `filter` may accept.
    private static func add(
        _ entry: borrowing LogEntry, filter: Filter, to tallies: inout Tallies
    ) -> Name? {
        let app = entry.app
        guard filter.app == nil || app == filter.app, let id = entry.messageID else { return nil }
        let name = Name(app: app, id: id)
        tallies[name, default: MessageTally()].add(entry)
        return name
    }

    /// Returns the messages with this id: one for each app that had such a message.
    package func one(_ id: MessageID, app: AppID?) async throws -> [MessageSummary] {
        let segments = try await log.trace(.message(id, app: app), limit: TraceSearch.mostAsked)
        let wanted = Array(id.text.utf8)
        var isWhole = TraceSearch.isComplete(segments)
        var tallies: [String: MessageTally] = [:]
        for segment in segments {
            do {
                try segment.entries { entry in
                    guard entry.concerns(wanted) else { return true }
                    let eventApp = entry.app
                    guard app == nil || eventApp == app else { return true }
                    tallies[eventApp?.name ?? "-", default: MessageTally()].add(entry)
                    return true
                }
            } catch {
                isWhole = false
            }
        }
        return tallies.sorted { $0.key < $1.key }.map {
            $0.value.answer(app: $0.key, id: id.text, isWhole: isWhole)
        }
    }
}
