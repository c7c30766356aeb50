package import PushAPI
package import PushLoop
package import PushModel
package import PushTime
package import PushWire

/// An event log in memory, with segments in the format of the ledger. It may have several parts, as in a cluster.
package final class FakeEvents: EventLog {
    package struct State {
        package var writer = LogWriter(next: 1)
        /// The writers of the other parts.
        package var writers: [Int: LogWriter] = [:]
        package var segments: [LogSegment] = []
        package var oldest: UInt64 = 1
        package var reads = 0
    }

    package static let start = WallTime(milliseconds: 1_767_225_600_000)

    package let state = Locked(State())
    package let waiting = CommittedEvents()

    package let partCount: Int
    /// Called before the range of stored numbers is read.
    package let beforeBounds = Locked<(@Sendable () async throws -> Void)?>(nil)

    package init(parts: Int = 1) { partCount = parts }

    /// Commits a segment whose first event is `time` milliseconds after ``start``.
    ///
    /// - Parameter isForeign: whether another node wrote it, so that nobody is woken.
    @discardableResult
    package func commit(
        at time: Int64 = 0, part: Int = 0, isForeign: Bool = false, with write: (inout LogWriter, WallTime) -> Void
    ) -> LogSegment {
        let segment = state.withLock { state in
            var writer = part == 0 ? state.writer : state.writers[part] ?? Self.writer(of: part)
            writer.begin(time: Self.start.adding(milliseconds: time), reserving: 100)
            write(&writer, Self.start.adding(milliseconds: time))
            let segment = writer.finish()
            if part == 0 { state.writer = writer } else { state.writers[part] = writer }
            state.segments.append(segment)
            return segment
        }
        if !isForeign { waiting.committed(upTo: [segment.last]) }
        return segment
    }

    private static func writer(of part: Int) -> LogWriter { LogWriter(next: EventNumber.base(of: part) + 1) }

    package func bounds() async throws -> [LogBounds] {
        try await beforeBounds.withLock { $0.take() }?()
        return state.withLock { state in
            state.reads += 1
            return (0..<partCount).map { Self.bounds(of: $0, state) }
        }
    }

    private static func bounds(of part: Int, _ state: State) -> LogBounds {
        guard part > 0 else { return LogBounds(oldest: state.oldest, newest: state.writer.next - 1) }
        let newest = (state.writers[part] ?? writer(of: part)).next - 1
        let first = state.segments.first { EventNumber.part(of: $0.first) == part }?.first
        return LogBounds(oldest: first ?? newest + 1, newest: newest)
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
            let part = partCount == 1 ? 0 : EventNumber.part(of: since)
            for segment in state.segments where segment.last > since && left > 0 {
                guard EventNumber.part(of: segment.first) == part else { continue }
                found.append(segment)
                left -= segment.count
            }
            let bounds = Self.bounds(of: part, state)
            return LogPage(segments: found, oldest: bounds.oldest, newest: bounds.newest)
        }
    }

    /// Returns segments without regard to the subject, because an event log may return more events than requested.
    package func trace(_ subject: TraceSubject, limit: Int) async throws -> [LogSegment] {
        state.withLock { state in
            let all = partCount == 1 ? state.segments : state.segments.sorted { $0.first < $1.first }
            return Array(all.prefix(limit))
        }
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
                acceptedAt: acceptedAt, message: message, device: device, deliveryID: DeliveryID(high: 1, low: 2),
                attempt: attempt, outcome: outcome),
            at: now)
    }

    /// Adds the acceptance of a message for `named` devices, or for all devices if it is nil.
    package mutating func add(accepted message: Message, named: Int?, at now: WallTime) {
        let tokens = named.map { (0..<$0).map { Address(words: (UInt64($0), 1, 2, 3)) } }
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
