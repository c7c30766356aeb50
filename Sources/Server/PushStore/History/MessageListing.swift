import PushModel
import PushTime
import PushWire

/// Collects a page of messages from one part of the log, the latest first.
struct MessageListing {
    /// The maximum number of messages of a page for which the log is queried. Each query may read a part of the log that
    /// has no index yet.
    static let maxAsked = 50

    struct Page {
        var messages: [(place: UInt64, summary: MessageSummary)] = []
        /// The number below which the next page begins; nil if there are no more messages.
        var next: UInt64?
    }

    private struct Name: Hashable {
        let app: AppID?
        let id: String
    }

    private let history: MessageHistory
    private let filter: MessageHistory.Filter
    private let before: UInt64?
    private let limit: Int
    private let maxScanned: Int
    private var walk: LogBackwards
    private var tallies: [Name: MessageTally] = [:]
    private var listed: Set<Name> = []
    /// The hashes of the ids whose events are counted; nil for all messages.
    private var wanted: Set<UInt32>?
    /// Whether the outcomes of messages on the page may be too far behind it to be read.
    private var asksForEach = false
    private var askedCount = 0
    /// Whether all events could be read. A damaged segment may have some of any message.
    private var isWhole = true
    private var page = Page()

    /// - Parameters:
    ///   - before: the number below which the page begins; nil for the end of the log.
    ///   - walk: a walk that begins there.
    init(
        _ history: MessageHistory, _ filter: MessageHistory.Filter, before: UInt64?, limit: Int, _ walk: LogBackwards,
        maxScanned: Int
    ) {
        self.history = history
        self.filter = filter
        self.before = before
        self.limit = limit
        self.walk = walk
        self.maxScanned = maxScanned
    }

    /// Reads the page.
    ///
    /// - Throws: also `CancellationError`, so that a search ends with its client.
    consuming func read() async throws -> Page {
        if let name = filter.user ?? filter.activity { return try await read(naming: name) }
        if let before { try await readOutcomes(since: before - min(before, 1)) }
        while walk.scanned < maxScanned, let segments = try await walk.next() {
            for (name, place) in add(segments) where try await take(name, at: place) { return page }
            if isPast(segments) { return page }
        }
        page.next = walk.isAtBeginning ? nil : walk.low + 1
        return page
    }

    /// Reads a page of the messages for a user or a Live Activity. Few messages are, so that their acceptances are searched
    /// first, and only their events are counted.
    private mutating func read(naming wanted: String) async throws -> Page {
        var found: [Name: UInt64] = [:]
        var isEnded = false
        while found.count < limit, walk.scanned < maxScanned, !isEnded {
            guard let segments = try await walk.next() else { break }
            search(segments, for: wanted, &found)
            isEnded = isPast(segments)
        }
        page.next = isEnded || walk.isAtBeginning ? nil : walk.low + 1
        let latest = found.sorted { $0.value > $1.value }.prefix(limit)
        guard let oldest = latest.last?.value else { return page }
        if latest.count == limit { page.next = oldest }
        self.wanted = Set(latest.map { TraceRun.hash(ofMessage: $0.key.id) })
        // A message to several Live Activities is accepted once for each, one after the other.
        try await readOutcomes(since: oldest - min(oldest, UInt64(Audience.maxActivities)))
        for (name, place) in latest where try await take(name, at: tallies[name]?.place ?? place) { return page }
        return page
    }

    private mutating func search(_ segments: [LogSegment], for name: String, _ found: inout [Name: UInt64]) {
        let bytes = Array(name.utf8)
        for segment in segments {
            let isSound = segment.couldBeRead(since: walk.low) { entry in
                let event = entry.event
                guard event.seq <= walk.high else { return false }
                guard event.kind == .messageAccepted, entry.mayMention(bytes),
                    filter.app == nil || entry.app == filter.app, let id = entry.messageID,
                    entry.details.map({ filter.isNamed(in: $0.request) }) == true
                else { return true }
                let name = Name(app: entry.app, id: id)
                found[name] = max(found[name] ?? 0, event.seq)
                return true
            }
            isWhole = isWhole && isSound
        }
    }

    /// Whether all events before these segments are older than the messages that are wanted.
    private func isPast(_ segments: [LogSegment]) -> Bool {
        guard let since = filter.since, let first = segments.first else { return false }
        return first.time < since
    }

    /// Counts the events after a number, up to the end of the log, if they are not too many.
    private mutating func readOutcomes(since: UInt64) async throws {
        try await walk.begin()
        let newest = walk.newest
        asksForEach = newest > since && newest - since > history.nearby
        guard !asksForEach else { return }
        var at = since
        while at < newest {
            try Task.checkCancellation()
            let page = try await history.log.read(since: at, limit: 5000)
            guard let last = page.segments.last, last.last > at else { return }
            for segment in page.segments {
                // Acceptances in these events belong to messages of earlier pages. They count for the same message.
                let isSound = segment.couldBeRead(since: since) { entry in
                    _ = add(entry)
                    return true
                }
                isWhole = isWhole && isSound
            }
            at = last.last
        }
    }

    /// Counts the events of the present stretch. Returns the messages that it lists for the first time, the latest
    /// first.
    private mutating func add(_ segments: [LogSegment]) -> [(name: Name, place: UInt64)] {
        var names: Set<Name> = []
        for segment in segments {
            let (low, high) = (walk.low, walk.high)
            let isSound = segment.couldBeRead(since: low) { entry in
                let event = entry.event
                guard event.seq <= high else { return false }
                let name = add(entry)
                if let name, event.kind == .messageAccepted || event.kind == .messageRejected { names.insert(name) }
                return true
            }
            isWhole = isWhole && isSound
        }
        return names.subtracting(listed).map { ($0, tallies[$0]?.place ?? 0) }.sorted { $0.place > $1.place }
    }

    /// Adds the event to the tally of its message and returns the message, or nil if the message is not wanted.
    private mutating func add(_ entry: borrowing LogEntry) -> Name? {
        if let wanted, entry.messageHash.map({ wanted.contains($0) }) != true { return nil }
        let app = entry.app
        guard filter.app == nil || app == filter.app, let id = entry.messageID else { return nil }
        let name = Name(app: app, id: id)
        tallies[name, default: MessageTally()].add(entry)
        return name
    }

    /// Adds the message to the page if it belongs there. Returns whether the page is full.
    private mutating func take(_ name: Name, at place: UInt64) async throws -> Bool {
        listed.insert(name)
        // A message that was accepted again later was on an earlier page.
        if let before, place >= before { return false }
        var message = (tallies[name] ?? MessageTally()).answer(
            app: name.app?.name ?? "-", id: name.id, isWhole: isWhole)
        if asksForEach, let id = MessageID(name.id) {
            // Outcomes that are not read yet change neither the request nor the end of a message.
            guard wanted != nil || filter.takesRequest(of: message), filter.mayTakeLater(message.state) else {
                return false
            }
            guard askedCount < Self.maxAsked else {
                page.next = place + 1
                return true
            }
            askedCount += 1
            try Task.checkCancellation()
            message = try await history.one(id, app: name.app).first ?? message
        }
        guard filter.takes(message) else { return false }
        page.messages.append((place, message))
        guard page.messages.count == limit else { return false }
        page.next = place
        return true
    }
}

extension MessageHistory.Filter {
    func takes(_ message: MessageSummary) -> Bool {
        (states.isEmpty || states.contains(message.state)) && takesRequest(of: message)
    }

    /// Whether the message is for the user and was accepted in the span: what its outcomes do not change.
    func takesRequest(of message: MessageSummary) -> Bool {
        guard isNamed(in: message.request) else { return false }
        guard since != nil || until != nil else { return true }
        guard let time = message.acceptedAt else { return false }
        return time >= since ?? .distantPast && time <= until ?? .distantFuture
    }

    /// Whether the audience names the user and the Live Activity, if these are wanted.
    func isNamed(in request: MessageSummary.Request) -> Bool {
        user.map { request.users?.contains($0) == true } ?? true
            && activity.map { request.activities?.contains($0) == true } ?? true
    }

    /// Whether a message in this state is in a wanted one, or may be after further events.
    func mayTakeLater(_ state: MessageSummary.State) -> Bool {
        switch state {
        case .waiting: true
        case .sending: states != [.waiting]
        case .completed, .expired, .cancelled, .rejected: states.isEmpty || states.contains(state)
        }
    }
}
