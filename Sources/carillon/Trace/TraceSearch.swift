import PushModel
import PushWire

/// Finds the events that tell of one message or of devices, within a span of time.
struct TraceSearch: Sendable {
    /// What the log is asked for at most: segments, or events in them, whichever it counts.
    static let mostAsked = 500_000
    static let mostEvents = 10_000
    /// Of how many refused devices it is looked up whether they were deactivated for it.
    static let mostDevices = 16

    let log: any EventLog
    /// Milliseconds since 1970: what happened at another time is left out, and is not counted as left out.
    var span: ClosedRange<Int64> = .min ... .max

    /// Events that are looked at for one apns-id, from the newest on.
    static let mostScanned = 2_000_000

    struct Found: Sendable {
        fileprivate var all: [Line] = []
        /// Whether these are all events of that time.
        var isComplete = true
        /// Whether there are devices that were not looked at.
        var hasMoreDevices = false

        var lines: [[UInt8]] { all.map(\.text) }
    }

    fileprivate struct Line: Sendable {
        let seq: UInt64
        let text: [UInt8]
    }

    /// All that happened to a message, and the deactivations that followed from it.
    func message(_ id: MessageID, app: AppID?) async throws -> Found {
        let wanted = Array(id.text.utf8)
        // The first refusal by device: what deactivates it comes after that.
        var refused: [DeviceID: (seq: UInt64, app: AppID?)] = [:]
        var told: Set<UInt64> = []
        var (lines, isComplete) = try await collect(.message(id)) { event, apps, bytes in
            guard let range = event.messageID, bytes[range].elementsEqual(wanted) else { return false }
            let eventApp = event.app.map { apps[$0] }
            guard app == nil || eventApp == app else { return false }
            if event.kind == .deliveryRejected, let device = event.device, refused[device] == nil,
                refused.count < Self.mostDevices
            {
                refused[device] = (event.seq, eventApp)
            }
            told.insert(event.seq)
            return true
        }
        for (device, refusal) in refused {
            var isFound = false
            let (more, _) = try await collect(.device(device)) { event, _, _ in
                guard !isFound, event.device == device, event.seq > refusal.seq else { return false }
                switch event.kind {
                case .deviceDeactivated:
                    isFound = true
                    return !told.contains(event.seq)
                // Registered again before anything came of it.
                case .deviceRegistered, .deviceReactivated: isFound = true
                default: break
                }
                return false
            }
            lines += more
        }
        lines.sort { $0.seq < $1.seq }
        return Found(all: lines, isComplete: isComplete)
    }

    /// Whether the log gave all that it has.
    static func isComplete(_ segments: [LogSegment]) -> Bool {
        segments.reduce(0) { $0 + max(1, $1.count) } < mostAsked
    }

    func device(_ id: DeviceID) async throws -> Found {
        let (lines, isComplete) = try await collect(.device(id)) { event, _, _ in event.device == id }
        return Found(all: lines, isComplete: isComplete)
    }

    /// The events of several devices, in order; the oldest `mostEvents` of them all.
    func devices(_ ids: [DeviceID]) async throws -> Found {
        var found = Found()
        for id in ids {
            let one = try await device(id)
            found.all += one.all
            found.all.sort { $0.seq < $1.seq }
            found.isComplete = found.isComplete && one.isComplete && found.all.count <= Self.mostEvents
            found.all.removeLast(max(0, found.all.count - Self.mostEvents))
        }
        return found
    }

    /// The delivery with that apns-id, and what happened to its message as a whole. The log has no table of these ids, so
    /// it is read from its end.
    func apnsID(_ id: APNSID) async throws -> Found {
        var backwards = LogBackwards(log)
        var found: (message: MessageID, app: AppID?, device: DeviceID?)?
        while found == nil, backwards.scanned < Self.mostScanned, let segments = try await backwards.next() {
            for segment in segments {
                // A damaged segment tells what it can.
                try? segment.walk { event, apps, bytes in
                    guard event.apnsID == id, let range = event.messageID,
                        let message = MessageID(String(decoding: bytes[range], as: UTF8.self))
                    else { return true }
                    found = (message, event.app.map { apps[$0] }, event.device)
                    return false
                }
            }
        }
        guard let found else { return Found(isComplete: backwards.low == 0 || backwards.low < backwards.oldest) }
        let wanted = Array(found.message.text.utf8)
        let (lines, isComplete) = try await collect(.message(found.message)) { event, apps, bytes in
            guard let range = event.messageID, bytes[range].elementsEqual(wanted),
                event.app.map({ apps[$0] }) == found.app
            else { return false }
            return event.device == nil || event.device == found.device
        }
        return Found(all: lines, isComplete: isComplete)
    }

    private func collect(
        _ subject: TraceSubject, _ takes: (LoggedEvent, [AppID], UnsafeRawBufferPointer) -> Bool
    ) async throws -> (lines: [Line], isComplete: Bool) {
        let segments = try await log.trace(subject, limit: Self.mostAsked)
        var lines: [Line] = []
        var text = EventText()
        var (isFull, isPast, isDamaged) = (false, false, false)
        for segment in segments where !isFull {
            do {
                try segment.walk { event, apps, bytes in
                    // The log gives the oldest first: whatever it did not give is later still.
                    if event.time > span.upperBound { isPast = true }
                    guard takes(event, apps, bytes), span.contains(event.time) else { return true }
                    guard lines.count < Self.mostEvents else {
                        isFull = true
                        return false
                    }
                    var line: [UInt8] = []
                    text.append(event, apps, bytes, to: &line)
                    lines.append(Line(seq: event.seq, text: line))
                    return true
                }
            } catch {
                // What of it could be read is told; the rest is gone.
                isDamaged = true
            }
        }
        return (lines, !isFull && !isDamaged && (isPast || Self.isComplete(segments)))
    }
}
