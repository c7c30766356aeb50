import PushTime

/// All decisions of a subscription: the events to deliver, and when to ask for events of the past.
///
/// It notices a gap by `prev` and by heartbeats, and delivers nothing of a topic behind a gap before the gap is filled.
/// Every event with its prefix is delivered once; across topics in any order.
struct SubscriberMachine {
    /// What goes to the consumer, in this order.
    enum Delivery: Sendable {
        /// The lines from an index on.
        case lines(EventLines, from: Int)
        /// All events up to this number were delivered.
        case mark(Int64)
        /// The subscription ends, and the next one starts at this position.
        case failure(EventError, EventPosition)
    }

    enum Start {
        case now
        case position(EventPosition)
    }

    /// The silence of heartbeats after which topics may be missing in the next one.
    private static let longSilence = Duration.seconds(30)

    /// The topics with events above the base, at most. Carillon has some for each app, and a heartbeat raises the base
    /// each second; with more, a replay raises it.
    static let maxTopics = 10_000

    let prefix: String
    private(set) var position: EventPosition
    /// Whether the position is that of the first heartbeat, which is not there yet.
    private var isWaiting: Bool
    private var lastHeartbeat: MonotonicTime?
    /// The number up to which a replay has to go; nil if none is under way.
    private(set) var target: Int64?
    /// What waits for the end of the replay.
    private var held: Held?
    private var isFromBeginning: Bool
    private(set) var hasFailed = false
    private var out: [Delivery] = []

    private enum Held {
        case lines(EventLines)
        case heartbeat(Heartbeat)
    }

    init(prefix: String, start: Start) {
        self.prefix = prefix
        switch start {
        case .now:
            position = EventPosition()
            isWaiting = true
        case .position(let position):
            self.position = position
            isWaiting = false
        }
        isFromBeginning = position.base == 0
    }

    /// Whether live messages must wait, because events before them are asked for.
    var isReplaying: Bool { target != nil }
    /// The `since` of the next replay request.
    var since: Int64 { position.base }

    mutating func takeDeliveries() -> [Delivery] { exchange(&out, with: []) }

    /// Called when the connection is lost: the next heartbeat may not list all topics that had events meanwhile.
    mutating func disconnected() { lastHeartbeat = nil }

    // MARK: Live

    /// Takes a live message. Must not be called during a replay.
    mutating func receive(_ lines: EventLines) {
        guard !hasFailed, !isWaiting, lines.topic.hasPrefix(prefix) else { return }
        guard !position.isMissing(lines.previous, of: lines.topic) else {
            held = .lines(lines)
            target = lines.previous
            return
        }
        if position.topics.count >= Self.maxTopics, position.topics[lines.topic] == nil, let last = lines.lines.last {
            held = .lines(lines)
            target = last.number
            return
        }
        deliver(lines)
    }

    mutating func receive(_ heartbeat: Heartbeat, now: MonotonicTime) {
        guard !hasFailed else { return }
        defer { lastHeartbeat = now }
        if isWaiting {
            isWaiting = false
            isFromBeginning = false
            return raise(to: heartbeat.number)
        }
        let isBehind = heartbeat.topics.contains {
            $0.key.hasPrefix(prefix) && position.isMissing($0.value, of: $0.key)
        }
        let wasSilent = lastHeartbeat.map { now - $0 > Self.longSilence } ?? true
        if isBehind || wasSilent || heartbeat.number < position.base {
            held = .heartbeat(heartbeat)
            target = heartbeat.number
        } else {
            raise(to: heartbeat.number)
        }
    }

    private mutating func deliver(_ lines: EventLines) {
        guard let first = lines.lines.firstIndex(where: { position.isMissing($0.number, of: lines.topic) }),
            let last = lines.lines.last
        else { return }
        position.take(last.number, of: lines.topic)
        out.append(.lines(lines, from: first))
    }

    private mutating func raise(to number: Int64) {
        guard number > position.base else { return }
        position.raise(to: number)
        out.append(.mark(number))
    }

    private mutating func fail(_ error: EventError, at position: EventPosition) {
        hasFailed = true
        target = nil
        held = nil
        out.append(.failure(error, position))
    }

    // MARK: Replay

    /// Takes a whole page of a replay. Afterwards ``isReplaying`` tells whether another one is needed. Returns false if
    /// events are missing in the page, so that it has to be asked for again.
    mutating func receive(_ page: [EventLines], end: ReplayEnd) -> Bool {
        guard let target, !hasFailed else { return true }
        switch end {
        case .busy: break
        case .refused(let detail): fail(.refused(detail), at: position)
        case .damaged(let next):
            let from = position.following
            fail(.gap(from: from, to: max(from, next)), at: EventPosition(after: max(next, position.base)))
        case .page(let next, let oldest):
            let since = position.base
            guard next >= since else {
                fail(.logReplaced, at: EventPosition())
                return true
            }
            guard oldest <= position.following || isFromBeginning else {
                fail(.gap(from: position.following, to: oldest - 1), at: EventPosition(after: oldest - 1))
                return true
            }
            guard isComplete(page, oldest: oldest) else { return false }
            isFromBeginning = false
            for lines in page where lines.topic.hasPrefix(prefix) { deliver(lines) }
            raise(to: next)
            if position.base >= target || next == since { finishReplay() }
        }
        return true
    }

    /// Whether each event of a page names one as its predecessor that is in the page, was taken, or is not kept any
    /// more.
    private func isComplete(_ page: [EventLines], oldest: Int64) -> Bool {
        var place = position
        for lines in page where lines.topic.hasPrefix(prefix) {
            if lines.previous >= oldest, place.isMissing(lines.previous, of: lines.topic) { return false }
            if let last = lines.lines.last { place.take(last.number, of: lines.topic) }
        }
        return true
    }

    /// Continues with what waited for the replay.
    private mutating func finishReplay() {
        target = nil
        switch held.take() {
        case .lines(let lines): deliver(lines)
        case .heartbeat(let heartbeat): raise(to: heartbeat.number)
        case nil: break
        }
    }
}
