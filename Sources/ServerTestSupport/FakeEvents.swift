package import PushAdmin
package import PushLoop
package import PushModel
package import PushTime
package import PushWire

/// An event log in memory, with segments in the format of the ledger.
package final class FakeEvents: EventLog {
    package struct State {
        package var writer = LogWriter(next: 1)
        package var segments: [LogSegment] = []
        package var oldest: UInt64 = 1
        package var reads = 0
    }

    package static let start = WallTime(milliseconds: 1_767_225_600_000)

    package let state = Locked(State())
    package let waiting = CommittedEvents()

    package init() {}

    /// Commits a segment whose first event is `time` milliseconds after ``start``.
    @discardableResult
    package func commit(at time: Int64 = 0, with write: (inout LogWriter, WallTime) -> Void) -> LogSegment {
        let segment = state.withLock { state in
            state.writer.begin(time: Self.start.adding(milliseconds: time), reserving: 100)
            write(&state.writer, Self.start.adding(milliseconds: time))
            let segment = state.writer.finish()
            state.segments.append(segment)
            return segment
        }
        waiting.committed(upTo: segment.last)
        return segment
    }

    package func damage(_ index: Int) {
        state.withLock { state in
            let whole = state.segments[index]
            state.segments[index] = LogSegment(
                first: whole.first, count: whole.count, time: whole.time, bytes: Array(whole.bytes.dropLast(3)))
        }
    }

    /// Removes the oldest segments, as the retention does.
    package func forget(_ count: Int) {
        state.withLock { state in
            state.segments.removeFirst(count)
            state.oldest = state.segments.first?.first ?? state.writer.next
        }
    }

    package func read(since: UInt64, limit: Int) async throws -> LogPage {
        state.withLock { state in
            state.reads += 1
            var left = limit
            var found: [LogSegment] = []
            for segment in state.segments where segment.last > since && left > 0 {
                found.append(segment)
                left -= segment.count
            }
            return LogPage(segments: found, oldest: state.oldest, newest: state.writer.next - 1)
        }
    }

    /// Returns segments without regard to the subject, because an event log may return more events than requested.
    package func trace(_ subject: TraceSubject, limit: Int) async throws -> [LogSegment] {
        state.withLock { Array($0.segments.prefix(limit)) }
    }
}

extension LogWriter {
    package static func message(_ id: String, app: AppID = PipelineScene.shop) -> Message {
        Message(id: MessageID(id)!, app: app, payload: Array("{}".utf8))
    }

    package mutating func add(
        _ outcome: DeliveryOutcome, of message: Message, to device: DeviceID, attempt: UInt16 = 1,
        acceptedAt: WallTime = FakeEvents.start, at now: WallTime
    ) {
        add(
            DeliveryRecord(
                seq: 1, fingerprint: PipelineScene.identities.message(of: message.app, id: message.id),
                acceptedAt: acceptedAt, message: message, device: device, apnsID: APNSID(high: 1, low: 2),
                attempt: attempt, outcome: outcome),
            at: now)
    }

    /// Adds the acceptance of a message for `named` devices, or for all devices if it is nil.
    package mutating func add(accepted message: Message, named: Int?, at now: WallTime) {
        let tokens = named.map { (0..<$0).map { DeviceToken(words: (UInt64($0), 1, 2, 3)) } }
        add(accepted: PushRequest(message, to: tokens.map { .tokens($0) } ?? .everyone), at: now)
    }

    package mutating func complete(
        _ message: Message, _ counts: OutcomeCounts, isExpired: Bool = false, at now: WallTime
    ) {
        add(CompletedMessage(seq: 1, message: message, counts: counts, isExpired: isExpired), at: now)
    }

    package mutating func add(
        _ kind: EventKind, app: AppID? = PipelineScene.shop, message: String? = nil, device: DeviceID? = nil,
        reason: String? = nil, details: [EventDraft.Detail] = [], at now: WallTime
    ) {
        var draft = EventDraft(kind, app: app)
        draft.messageID = message.flatMap { MessageID($0) }
        draft.device = device
        draft.reason = reason
        draft.details = details
        add(draft, at: now)
    }
}
