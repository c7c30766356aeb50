import PushModel
import PushWire

/// What the kept events tell of messages: of one, or of those that came last.
struct MessageHistory: Sendable {
    /// Events that one request may have looked at before it answers with what it has.
    static let mostScanned = 200_000

    let log: any EventLog
    /// If no more events than these came after the page, they are read once for all its messages; else the log is asked
    /// for each message.
    var nearby: UInt64 = 200_000

    struct Filter: Sendable {
        var app: AppID?
        var states: Set<MessageAnswer.State> = []
        /// Only messages whose audience names this user.
        var user: String?
        /// When it was accepted, milliseconds since 1970, these two included.
        var since: Int64?
        var until: Int64?

        func takes(_ message: MessageAnswer) -> Bool {
            if !states.isEmpty, !states.contains(message.state) { return false }
            if let user, message.request.users?.contains(user) != true { return false }
            guard since != nil || until != nil else { return true }
            guard let time = message.acceptedAt else { return false }
            return time >= since ?? .min && time <= until ?? .max
        }
    }

    private struct Name: Hashable {
        let app: AppID?
        let id: String
    }

    private typealias Tallies = [Name: MessageTally]

    /// The last messages first. `before`: those whose number is less.
    func list(_ filter: Filter, before: UInt64?, limit: Int) async throws -> MessageListAnswer {
        var backwards = LogBackwards(log, from: before)
        var tallies: Tallies = [:]
        var listed: Set<Name> = []
        var messages: [MessageAnswer] = []
        // What became of them may stand above where this page begins.
        var asksForEach = false
        if let before {
            try await backwards.begin()
            asksForEach = backwards.newest > before && backwards.newest - before > nearby
            if !asksForEach { try await read(since: before - 1, upTo: backwards.newest, filter, into: &tallies) }
        }
        while backwards.scanned < Self.mostScanned, let segments = try await backwards.next() {
            var names: Set<Name> = []
            for segment in segments {
                // A damaged segment tells what it can.
                try? segment.walk(since: backwards.low) { event, apps, bytes in
                    guard event.seq <= backwards.high else { return false }
                    let name = Self.add(event, apps, bytes, filter, to: &tallies)
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
                // Accepted again later: it was on a page before.
                if let before, place >= before { continue }
                var answer = tallies[name]!.answer(app: name.app?.name ?? "-", id: name.id)
                if asksForEach, let id = MessageID(name.id) {
                    answer = try await one(id, app: name.app).first ?? answer
                }
                guard filter.takes(answer) else { continue }
                messages.append(answer)
                if messages.count == limit { return MessageListAnswer(messages: messages, next: "\(place)") }
            }
            // All earlier events were accepted before `since`.
            if let since = filter.since, let first = segments.first, first.time < since {
                return MessageListAnswer(messages: messages, next: nil)
            }
        }
        let isAtBeginning = backwards.low == 0 || backwards.low < backwards.oldest
        return MessageListAnswer(messages: messages, next: isAtBeginning ? nil : "\(backwards.low + 1)")
    }

    private func read(
        since: UInt64, upTo newest: UInt64, _ filter: Filter, into tallies: inout Tallies
    ) async throws {
        var at = since
        while at < newest {
            let page = try await log.read(since: at, limit: 5000)
            guard let last = page.segments.last, last.last > at else { return }
            for segment in page.segments {
                // The acceptances there belong to pages before this one, and to the same message.
                try? segment.walk(since: since) { event, apps, bytes in
                    _ = Self.add(event, apps, bytes, filter, to: &tallies)
                    return true
                }
            }
            at = last.last
        }
    }

    /// Which message the event was counted for; nil if it tells of none that is asked for.
    private static func add(
        _ event: LoggedEvent, _ apps: [AppID], _ bytes: UnsafeRawBufferPointer, _ filter: Filter,
        to tallies: inout Tallies
    ) -> Name? {
        let app = event.app.map { apps[$0] }
        guard let range = event.messageID, filter.app == nil || app == filter.app else { return nil }
        let name = Name(app: app, id: String(decoding: bytes[range], as: UTF8.self))
        tallies[name, default: MessageTally()].add(event, bytes)
        return name
    }

    /// The message of that name in each app that had one.
    func one(_ id: MessageID, app: AppID?) async throws -> [MessageAnswer] {
        let segments = try await log.trace(.message(id), limit: TraceSearch.mostAsked)
        let wanted = Array(id.text.utf8)
        var isWhole = TraceSearch.isComplete(segments)
        var tallies: [String: MessageTally] = [:]
        for segment in segments {
            do {
                try segment.walk { event, apps, bytes in
                    guard let range = event.messageID, bytes[range].elementsEqual(wanted) else { return true }
                    let eventApp = event.app.map { apps[$0] }
                    guard app == nil || eventApp == app else { return true }
                    tallies[eventApp?.name ?? "-", default: MessageTally()].add(event, bytes)
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
