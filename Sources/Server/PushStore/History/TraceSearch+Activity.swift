package import PushModel
import PushTime
import PushWire

/// The events of a Live Activity. The log has no index of the names of activities, so it is read from its end.
extension TraceSearch {
    /// The maximum number of messages to a Live Activity whose events are returned, the newest ones.
    package static let maxMessages = 100
    /// The maximum number of events in which these messages are searched, starting with the newest.
    package static let maxWalked = 1_000_000

    private static let stretch: UInt64 = 5000

    /// Returns the events of a Live Activity, in order: of the messages to it, of the one that started it, and of its
    /// addresses. Of too many, the newest ones are returned.
    package func activity(
        _ name: String, of app: AppID, startedBy start: MessageID?, addresses: [DeviceID]
    ) async throws -> Found {
        var search = self
        search.keepsNewest = true
        var found = try await search.devices(addresses)
        if let start {
            let wanted = Array(start.text.utf8)
            let (lines, isComplete) = try await search.collect(.message(start, app: app)) { entry in
                entry.concerns(wanted) && entry.app == app
            }
            found.add(Found(all: lines, isComplete: isComplete), keepsNewest: true)
        }
        found.add(try await search.messages(to: name, of: app), keepsNewest: true)
        return found
    }

    /// Returns the events of the messages to a Live Activity, which are all in one part of the log. Events of a message
    /// come after its acceptance: once the acceptances are found, the log is read once from the oldest of them on.
    private func messages(to name: String, of app: AppID) async throws -> Found {
        let bounds = try await log.bounds()
        let part = PartitionMap(count: bounds.count)?.partition(of: app, activity: name).number ?? 0
        guard part < bounds.count else { return Found() }
        var walk = LogBackwards(log, part: part, bounds[part], stretch: Self.stretch)
        var accepted = ActivityMessages(to: name, of: app)
        while accepted.count <= Self.maxMessages, walk.scanned < Self.maxWalked,
            let segments = try await walk.next()
        {
            for segment in segments { accepted.add(segment, after: walk.low, upTo: walk.high) }
        }
        let isAll = walk.isAtBeginning && accepted.count <= Self.maxMessages
        accepted.keepNewest(Self.maxMessages)
        guard let first = accepted.first else { return Found(isComplete: isAll && accepted.isSound) }
        let found = try await events(of: accepted, from: first, upTo: walk.newest)
        return Found(all: found.lines, isComplete: isAll && accepted.isSound && found.isComplete)
    }

    private func events(
        of messages: ActivityMessages, from first: UInt64, upTo newest: UInt64
    ) async throws -> (lines: [Line], isComplete: Bool) {
        var lines: [Line] = []
        var text = EventText()
        var isComplete = true
        var at = first - min(first, 1)
        while at < newest {
            try Task.checkCancellation()
            let page = try await log.read(since: at, limit: Int(Self.stretch))
            guard let last = page.segments.last, last.last > at else { break }
            for segment in page.segments {
                let isSound = segment.couldBeRead(since: at) { entry in
                    let event = entry.event
                    guard span.contains(event.time), messages.have(entry) else { return true }
                    lines.append(Line(seq: event.seq, time: event.time, text: entry.line(&text)))
                    if Self.dropOldest(of: &lines) { isComplete = false }
                    return true
                }
                isComplete = isComplete && isSound
            }
            at = last.last
        }
        return (lines, isComplete)
    }
}

/// The messages to one Live Activity, by their ids.
private struct ActivityMessages {
    private let app: AppID
    private let name: String
    private let bytes: [UInt8]
    /// The numbers of the first and the last acceptance of each message that are known.
    private var acceptances: [ExactText: ClosedRange<UInt64>] = [:]
    private var hashes: Set<UInt32> = []
    /// Whether all segments could be read. A damaged one may have an acceptance.
    private(set) var isSound = true

    init(to name: String, of app: AppID) {
        (self.app, self.name) = (app, name)
        bytes = Array(name.utf8)
    }

    var count: Int { acceptances.count }
    /// The number of the oldest acceptance; nil if there are no messages.
    var first: UInt64? { acceptances.values.map { $0.lowerBound }.min() }

    /// Adds the messages whose acceptances are in these events of a segment.
    mutating func add(_ segment: LogSegment, after low: UInt64, upTo high: UInt64) {
        let couldBeRead = segment.couldBeRead(since: low) { entry in
            let event = entry.event
            guard event.seq <= high else { return false }
            guard event.kind == .messageAccepted, entry.mayMention(bytes), entry.app == app,
                let id = entry.messageID.map({ ExactText($0) }), let names = entry.details?.request.activities,
                names.contains(where: { $0.isExactly(name) })
            else { return true }
            let known = acceptances[id] ?? event.seq...event.seq
            acceptances[id] = min(known.lowerBound, event.seq)...max(known.upperBound, event.seq)
            return true
        }
        isSound = isSound && couldBeRead
    }

    /// Forgets all but the messages that were accepted last.
    mutating func keepNewest(_ limit: Int) {
        for (id, _) in acceptances.sorted(by: { $0.value.upperBound > $1.value.upperBound }).dropFirst(limit) {
            acceptances[id] = nil
        }
        hashes = Set(acceptances.keys.map { TraceRun.hash(ofMessage: $0.text) })
    }

    /// Returns whether the event belongs to one of the messages, and is not its acceptance for another activity.
    func have(_ entry: borrowing LogEntry) -> Bool {
        guard let hash = entry.messageHash, hashes.contains(hash), entry.app == app, let id = entry.messageID,
            acceptances[ExactText(id)] != nil
        else { return false }
        guard entry.event.kind == .messageAccepted, let names = entry.details?.request.activities else { return true }
        return names.contains { $0.isExactly(name) }
    }
}
