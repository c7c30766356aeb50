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
        /// All events of a part up to this number were delivered.
        case mark(Int64, part: Int)
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
    /// When each part had its last heartbeat.
    private var lastHeartbeats: [Int: MonotonicTime] = [:]
    /// What is asked for at the replay socket; nil if no replay is under way.
    private(set) var request: Request?
    /// The number up to which a replay has to go.
    private var target: Int64 = 0
    /// What waits for the end of the replay: first what caused it, then what was in the same message.
    private var held: [Held] = []
    /// The parts whose beginning is known, so that the oldest kept event must follow what was taken.
    private var begun: Set<Int> = []
    private(set) var hasFailed = false
    private var out: [Delivery] = []

    /// A request for events of the past.
    enum Request: Equatable {
        /// The events of a part after ``since``.
        case part(Int)
        /// The newest numbers of all parts of a cluster.
        case heads
    }

    private enum Held {
        case lines(EventLines)
        case heartbeat(Heartbeat, part: Int, at: MonotonicTime)
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
        if position.base > 0 { begun.insert(0) }
        for (part, place) in position.parts where place.base > 0 { begun.insert(part) }
    }

    /// Whether live messages must wait, because events before them are asked for.
    var isReplaying: Bool { request != nil }
    /// The `since` of the next replay request.
    var since: Int64 { position.base(ofPart: part) }
    /// The part that is asked for.
    private var part: Int { if case .part(let part) = request { part } else { 0 } }

    mutating func takeDeliveries() -> [Delivery] { exchange(&out, with: []) }

    /// Called when the connection is lost: the next heartbeat may not list all topics that had events meanwhile.
    mutating func disconnected() { lastHeartbeats = [:] }

    // MARK: Live

    /// Takes a live message. What arrives during a replay waits for its end.
    mutating func receive(_ lines: EventLines) {
        guard !hasFailed, !isWaiting, lines.topic.hasPrefix(prefix) else { return }
        if isReplaying { return held.append(.lines(lines)) }
        // At the beginning of a part, its past comes first. Otherwise a position could have live events and not what was
        // before them, and a later gap between them would not be noticed.
        let isBeginning = !begun.contains(lines.part)
        if isBeginning || position.isMissing(lines.previous, of: lines.topic, inPart: lines.part) {
            return ask(lines.part, upTo: lines.previous, for: .lines(lines))
        }
        if position.topicCount(ofPart: lines.part) >= Self.maxTopics,
            !position.hasTopic(lines.topic, inPart: lines.part), let last = lines.lines.last
        {
            return ask(lines.part, upTo: last.number, for: .lines(lines))
        }
        deliver(lines)
    }

    mutating func receive(_ heartbeat: Heartbeat, now: MonotonicTime) {
        guard !hasFailed else { return }
        guard let parts = heartbeat.parts else { return receive(heartbeat, ofPart: 0, now: now) }
        if isWaiting {
            // The node does not list the parts of others, which begin now, too.
            request = .heads
            return
        }
        for (part, beat) in parts.sorted(by: { $0.key < $1.key }) { receive(beat, ofPart: part, now: now) }
    }

    private mutating func receive(_ heartbeat: Heartbeat, ofPart part: Int, now: MonotonicTime) {
        if isReplaying { return held.append(.heartbeat(heartbeat, part: part, at: now)) }
        defer { lastHeartbeats[part] = now }
        if isWaiting {
            isWaiting = false
            begun.insert(part)
            return raise(to: heartbeat.number, inPart: part)
        }
        let isBehind = heartbeat.topics.contains {
            $0.key.hasPrefix(prefix) && position.isMissing($0.value, of: $0.key, inPart: part)
        }
        let wasSilent = lastHeartbeats[part].map { now - $0 > Self.longSilence } ?? true
        if isBehind || wasSilent || heartbeat.number < position.base(ofPart: part) {
            ask(part, upTo: heartbeat.number, for: .heartbeat(heartbeat, part: part, at: now))
        } else {
            raise(to: heartbeat.number, inPart: part)
        }
    }

    private mutating func ask(_ part: Int, upTo number: Int64, for cause: Held) {
        held.insert(cause, at: 0)
        target = number
        request = .part(part)
    }

    private mutating func deliver(_ lines: EventLines) {
        guard
            let first = lines.lines.firstIndex(where: {
                position.isMissing($0.number, of: lines.topic, inPart: lines.part)
            }),
            let last = lines.lines.last
        else { return }
        position.take(last.number, of: lines.topic, inPart: lines.part)
        out.append(.lines(lines, from: first))
    }

    private mutating func raise(to number: Int64, inPart part: Int) {
        guard number > position.base(ofPart: part) else { return }
        position.raise(to: number, inPart: part)
        out.append(.mark(number, part: part))
    }

    private mutating func fail(_ error: EventError, at position: EventPosition) {
        hasFailed = true
        request = nil
        held = []
        out.append(.failure(error, position))
    }

    /// The event that Carillon must still have, so that none is lost; nil if any will do, because the subscription is at
    /// the beginning of the part.
    private func firstNeeded(ofPart part: Int) -> Int64? {
        let place = position[part: part]
        if begun.contains(part) { return place.following }
        // Some events of the first page were taken, in their order; those before them may never have been kept.
        return place.topics.values.max().map { $0 < .max ? $0 + 1 : $0 }
    }

    /// Fails because events of a part are not there.
    private mutating func failGap(from: Int64, upTo number: Int64) {
        var place = position
        place[part: part] = EventPosition(after: max(number, since))
        fail(.gap(from: from, to: max(from, number)), at: place)
    }

    // MARK: Replay

    /// Takes a whole page of a replay. Afterwards ``isReplaying`` tells whether another one is needed. Returns false if
    /// events are missing in the page, so that it has to be asked for again.
    mutating func receive(_ page: [EventLines], end: ReplayEnd) -> Bool {
        guard let request, !hasFailed else { return true }
        switch end {
        case .busy: break
        case .refused(let detail): fail(.refused(detail), at: position)
        case .damaged(let next): failGap(from: position[part: part].following, upTo: next)
        case .heads(let heads):
            guard request == .heads else { return false }
            isWaiting = false
            for (part, number) in heads.sorted(by: { $0.key < $1.key }) {
                begun.insert(part)
                raise(to: number, inPart: part)
            }
            goOn()
        case .page(let next, let oldest):
            guard case .part(let part) = request else { return false }
            let since = since
            guard next >= since else {
                fail(.logReplaced, at: EventPosition())
                return true
            }
            if let first = firstNeeded(ofPart: part), oldest > first {
                failGap(from: first, upTo: oldest - 1)
                return true
            }
            guard isComplete(page, part: part, oldest: oldest) else { return false }
            begun.insert(part)
            for lines in page where lines.part == part && lines.topic.hasPrefix(prefix) { deliver(lines) }
            raise(to: next, inPart: part)
            if position.base(ofPart: part) >= target || next == since { finishReplay() }
        }
        return true
    }

    /// Whether each event of a page names one as its predecessor that is in the page, was taken, or is not kept any
    /// more.
    private func isComplete(_ page: [EventLines], part: Int, oldest: Int64) -> Bool {
        var place = position[part: part]
        for lines in page where lines.part == part && lines.topic.hasPrefix(prefix) {
            if lines.previous >= oldest, place.isMissing(lines.previous, of: lines.topic) { return false }
            if let last = lines.lines.last { place.take(last.number, of: lines.topic) }
        }
        return true
    }

    /// Takes what caused the replay, and continues with what waited.
    private mutating func finishReplay() {
        if !held.isEmpty {
            switch held.removeFirst() {
            case .lines(let lines): deliver(lines)
            case .heartbeat(let heartbeat, let part, _): raise(to: heartbeat.number, inPart: part)
            }
        }
        goOn()
    }

    private mutating func goOn() {
        request = nil
        while !isReplaying, !held.isEmpty {
            switch held.removeFirst() {
            case .lines(let lines): receive(lines)
            case .heartbeat(let heartbeat, let part, let time): receive(heartbeat, ofPart: part, now: time)
            }
        }
    }
}
