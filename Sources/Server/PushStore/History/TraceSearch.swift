package import PushModel
package import PushTime
import PushWire

/// A search for the events of one message or of devices, within a span of time.
package struct TraceSearch: Sendable {
    /// The limit of a query to the log. An event log may count segments, or the events in them.
    package static let maxAsked = 500_000
    package static let maxEvents = 10_000
    /// The maximum number of rejected devices whose deactivation is searched.
    package static let maxDevices = 16

    package let log: any EventLog
    /// The span of time. Other events are left out, which does not make a result incomplete.
    package var span: ClosedRange<WallTime>
    /// Whether the oldest events are left out of a result that has too many, and not the newest ones.
    var keepsNewest = false

    package init(log: any EventLog, span: ClosedRange<WallTime> = .distantPast ... .distantFuture) {
        self.log = log
        self.span = span
    }

    /// The maximum number of events that are examined for one delivery id, starting with the newest.
    package static let maxScanned = 2_000_000

    package struct Found: Sendable {
        private var all: [Line]
        /// Whether these are all events in the span.
        package var isComplete: Bool
        /// Whether there are devices whose events were not searched.
        package var hasMoreDevices = false

        package var lines: [[UInt8]] { all.map(\.text) }

        init(all: [Line], isComplete: Bool) {
            self.all = Line.inOrder(all)
            self.isComplete = isComplete
        }

        /// Adds the events of another result, in order. At most ``maxEvents`` are left: the oldest or the newest ones.
        mutating func add(_ other: Found, keepsNewest: Bool = false) {
            let known = Set(all.map(\.seq))
            all = Line.inOrder(all + other.all.filter { !known.contains($0.seq) })
            let excess = max(0, all.count - TraceSearch.maxEvents)
            isComplete = isComplete && other.isComplete && excess == 0
            if keepsNewest { all.removeFirst(excess) } else { all.removeLast(excess) }
        }

        /// Creates a result without events.
        package init(isComplete: Bool = true) {
            self.init(all: [], isComplete: isComplete)
        }
    }

    struct Line: Sendable {
        let seq: UInt64
        let time: WallTime
        let text: [UInt8]

        /// Returns the lines in the order of their times. Those of one part of the log stay in the order of their
        /// numbers, also where its clock went back.
        static func inOrder(_ lines: [Line]) -> [Line] {
            var timed: [(time: WallTime, line: Line)] = []
            for line in lines.sorted(by: { $0.seq < $1.seq }) {
                let last = timed.last.flatMap { last in
                    EventNumber.part(of: last.line.seq) == EventNumber.part(of: line.seq) ? last.time : nil
                }
                timed.append((max(last ?? .distantPast, line.time), line))
            }
            timed.sort { ($0.time, $0.line.seq) < ($1.time, $1.line.seq) }
            return timed.map { $0.line }
        }
    }

    /// Returns the events of a message, and the deactivations of devices that its rejections caused.
    package func message(_ id: MessageID, app: AppID?) async throws -> Found {
        let wanted = Array(id.text.utf8)
        // The first rejection of each device. The deactivation of the device comes after it.
        var refused: [DeviceID: (seq: UInt64, app: AppID?)] = [:]
        var told: Set<UInt64> = []
        var (lines, isComplete) = try await collect(.message(id, app: app)) { entry in
            let event = entry.event
            guard entry.concerns(wanted) else { return false }
            let eventApp = entry.app
            guard app == nil || eventApp == app else { return false }
            if event.kind == .deliveryRejected, let device = event.device, refused[device] == nil,
                refused.count < Self.maxDevices
            {
                refused[device] = (event.seq, eventApp)
            }
            told.insert(event.seq)
            return true
        }
        for (device, refusal) in refused {
            var isFound = false
            let (more, _) = try await collect(.device(device)) { entry in
                let event = entry.event
                guard !isFound, event.device == device, event.seq > refusal.seq else { return false }
                switch event.kind {
                case .deviceDeactivated:
                    isFound = true
                    return !told.contains(event.seq)
                // The device registered again before it was deactivated.
                case .deviceRegistered, .deviceReactivated: isFound = true
                default: break
                }
                return false
            }
            lines += more
        }
        return Found(all: lines, isComplete: isComplete)
    }

    /// Returns the events of the messages with an id in several apps.
    package func message(_ id: MessageID, apps: [AppID]) async throws -> Found {
        var found = Found()
        for app in apps { found.add(try await message(id, app: app)) }
        return found
    }

    /// Returns whether the log returned all its segments of a subject, and not only as many as were requested.
    package static func isComplete(_ segments: [LogSegment]) -> Bool {
        segments.reduce(0) { $0 + max(1, $1.count) } < maxAsked
    }

    package func device(_ id: DeviceID) async throws -> Found {
        let (lines, isComplete) = try await collect(.device(id)) { $0.event.device == id }
        return Found(all: lines, isComplete: isComplete)
    }

    /// Returns the events of several devices in order, at most ``maxEvents``.
    package func devices(_ ids: [DeviceID]) async throws -> Found {
        var found = Found()
        for id in ids { found.add(try await device(id), keepsNewest: keepsNewest) }
        return found
    }

    /// Returns the events of the delivery with this id, and those of its message that concern no single device.
    ///
    /// The log has no index of these ids, so it is read from its end.
    package func deliveryID(_ id: DeliveryID) async throws -> Found {
        var walks = [LogBackwards(log)]
        if log.partCount > 1 {
            walks = try await log.bounds().enumerated().map { LogBackwards(log, part: $0, $1, stretch: 5000) }
        }
        var found: (message: MessageID, app: AppID?, device: DeviceID?)?
        var open = Array(walks.indices)
        var isDamaged = false
        // The newest stretch of each part is read before an older one of any.
        while found == nil, !open.isEmpty, walks.reduce(0, { $0 + $1.scanned }) < Self.maxScanned {
            let index = open.removeFirst()
            guard let segments = try await walks[index].next() else { continue }
            open.append(index)
            for segment in segments {
                // A damaged segment may be the one that has the delivery.
                let isSound = segment.couldBeRead { entry in
                    guard entry.event.deliveryID == id, let message = entry.messageID.flatMap({ MessageID($0) }) else {
                        return true
                    }
                    found = (message, entry.app, entry.event.device)
                    return false
                }
                isDamaged = isDamaged || !isSound
            }
        }
        guard let found else { return Found(isComplete: !isDamaged && walks.allSatisfy(\.isAtBeginning)) }
        let wanted = Array(found.message.text.utf8)
        let (lines, isComplete) = try await collect(.message(found.message, app: found.app)) { entry in
            guard entry.concerns(wanted), entry.app == found.app else { return false }
            return entry.event.device == nil || entry.event.device == found.device
        }
        return Found(all: lines, isComplete: isComplete)
    }

    func collect(
        _ subject: TraceSubject, where takes: (borrowing LogEntry) -> Bool
    ) async throws -> (lines: [Line], isComplete: Bool) {
        try Task.checkCancellation()
        let segments = try await log.trace(subject, limit: Self.maxAsked)
        var lines: [Line] = []
        var text = EventText()
        var (isFull, isCut, isPast, isDamaged) = (false, false, false, false)
        for segment in segments where !isFull {
            do {
                try segment.entries { entry in
                    let event = entry.event
                    // The log returns the oldest segments first, so segments that it did not return are later.
                    if event.time > span.upperBound { isPast = true }
                    guard takes(entry), span.contains(event.time) else { return true }
                    guard keepsNewest || lines.count < Self.maxEvents else {
                        isFull = true
                        return false
                    }
                    lines.append(Line(seq: event.seq, time: event.time, text: entry.line(&text)))
                    if Self.dropOldest(of: &lines) { isCut = true }
                    return true
                }
            } catch {
                // The events of a damaged segment are missing in the result.
                isDamaged = true
            }
        }
        return (lines, !isFull && !isCut && !isDamaged && (isPast || Self.isComplete(segments)))
    }
    /// Removes the oldest lines before there are twice as many as a result may have. Returns whether it did.
    static func dropOldest(of lines: inout [Line]) -> Bool {
        guard lines.count >= 2 * maxEvents else { return false }
        lines.removeFirst(maxEvents)
        return true
    }
}
