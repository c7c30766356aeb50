package import PushModel
package import PushTime

/// Numbers events and writes them into segments.
///
/// The writer keeps the last number of each topic, since every event contains the number of the one before it: `prev`.
/// Numbers are final once their events are on disk; until then ``setMark()`` and ``revert()`` undo them. The cost of
/// both depends on the number of topics written since the mark, not on the number of all topics.
package struct LogWriter: Sendable {
    /// The number of the next event.
    package private(set) var next: UInt64
    private var apps: [AppID?] = []
    private var numbers: [AppID?: Int] = [:]
    /// The last number of each topic, 0 for none; 256 kinds for each app.
    private var heads: [UInt64] = []
    private var lastApp = 0
    /// The next number at the time of the mark.
    private var marked: UInt64
    /// The heads that changed since the mark, each with its former number.
    private var changed: [(index: Int, before: UInt64)] = []

    // The current segment.
    private var bytes: [UInt8] = []
    private var first: UInt64 = 0
    private var time = WallTime(milliseconds: 0)
    /// For each app, its index in the segment's list plus one; 0 if it is not in the list yet.
    private var listNumbers: [Int] = []
    /// The apps in the segment's list.
    private var listed: [Int] = []
    private var lastMessage: Message?
    /// The details of the event that is being added. Their memory is used again, so that an event allocates none.
    private var details: [UInt8] = []
    /// The counts of the last message that was completed, as details. Most messages have the same ones.
    private var lastCounts: (counts: OutcomeCounts?, text: [UInt8]) = (nil, [])
    /// Whether the segment has the deactivation of a device.
    private var deactivates = false

    private static let kinds = 256

    /// - Parameters:
    ///   - next: The next number, from 1. Numbers up to the largest of `heads` are not assigned again.
    ///   - heads: The last number of each topic, from ``topics`` of an earlier writer.
    package init(next: UInt64, heads: [Head] = []) {
        self.next = max(next, 1, (heads.map(\.seq).max() ?? 0) + 1)
        marked = self.next
        for head in heads {
            let index = headIndex(of: head.kind, app: head.app)
            self.heads[index] = max(self.heads[index], head.seq)
        }
    }

    /// The last number of a topic.
    package struct Head: Sendable, Equatable {
        package let app: AppID?
        package let kind: EventKind
        package let seq: UInt64

        package init(app: AppID?, kind: EventKind, seq: UInt64) {
            self.app = app
            self.kind = kind
            self.seq = seq
        }
    }

    /// The topics that have events.
    package var topics: [Head] { heads.indices.compactMap { head(at: $0) } }

    /// The topics that have events since the mark.
    package var changedTopics: [Head] { changed.compactMap { head(at: $0.index) } }

    private func head(at index: Int) -> Head? {
        guard heads[index] > 0, let kind = EventKind(rawValue: UInt8(index % Self.kinds)) else { return nil }
        return Head(app: apps[index / Self.kinds], kind: kind, seq: heads[index])
    }

    package mutating func setMark() {
        marked = next
        changed.removeAll(keepingCapacity: true)
    }

    /// Undoes the numbering since the mark.
    package mutating func revert() {
        next = marked
        for (index, before) in changed { heads[index] = before }
        changed.removeAll(keepingCapacity: true)
        first = next
        bytes = []
        lastMessage = nil
    }

    // MARK: Segments

    /// Begins a segment.
    package mutating func begin(time: WallTime, reserving capacity: Int) {
        first = next
        self.time = time
        bytes = []
        bytes.reserveCapacity(capacity)
        for number in listed { listNumbers[number] = 0 }
        listed.removeAll(keepingCapacity: true)
        lastMessage = nil
        deactivates = false
    }

    package var count: Int { Int(next - first) }

    package mutating func finish() -> LogSegment {
        let checksum = unsafe bytes.withUnsafeBytes {
            unsafe LogChecksum.of($0, first: first, count: count, time: time)
        }
        unsafe withUnsafeBytes(of: checksum.littleEndian) { unsafe bytes.append(contentsOf: $0) }
        let segment = LogSegment(first: first, count: count, time: time, bytes: bytes, mayDeactivate: deactivates)
        bytes = []
        lastMessage = nil
        return segment
    }

    // MARK: Events

    /// Adds the event of a delivery.
    package mutating func add(_ record: DeliveryRecord, at now: WallTime) {
        if !details.isEmpty { details.removeAll(keepingCapacity: true) }
        let outcome = LoggedOutcome(record.outcome, details: &details)
        let message = record.message
        // A message to a Live Activity may end before any address of it is known.
        var fields = record.device == .none ? 0 : LogField.device
        fields |= message === lastMessage ? LogField.sameMessage : LogField.messageID
        if record.deliveryID.high | record.deliveryID.low != 0 { fields |= LogField.deliveryID }
        if record.attempt > 0 { fields |= LogField.attempt }
        if outcome.status != nil { fields |= LogField.status }
        if outcome.reason != nil { fields |= LogField.reason }
        if outcome.isAnswered { fields |= LogField.latency }
        if message.traceparent != nil {
            fields |= message === lastMessage ? LogField.sameTraceparent : LogField.traceparent
        }
        if !details.isEmpty { fields |= LogField.details }
        beginEvent(outcome.kind, of: message.app, fields: fields, at: now)
        if fields & LogField.messageID != 0 { bytes.appendText(message.id.text) }
        if fields & LogField.device != 0 {
            bytes.appendWords(record.device.high, record.device.low)
        }
        if fields & LogField.deliveryID != 0 {
            bytes.appendWords(record.deliveryID.high, record.deliveryID.low)
        }
        if record.attempt > 0 { bytes.appendVarint(UInt64(record.attempt)) }
        if let status = outcome.status { bytes.appendVarint(status) }
        if let reason = outcome.reason { bytes.appendText(reason) }
        if outcome.isAnswered {
            bytes.appendVarint(UInt64(max(0, now.milliseconds &- record.acceptedAt.milliseconds)))
        }
        if fields & LogField.traceparent != 0, let traceparent = message.traceparent { bytes.appendText(traceparent) }
        if !details.isEmpty { bytes.appendBytes(details) }
        lastMessage = message
    }

    /// Adds the acceptance of a request, with its audience, the options that differ from the defaults of its push type,
    /// and its client, so that these remain known after the message itself is removed.
    package mutating func add(accepted request: PushRequest, at now: WallTime) {
        details.removeAll(keepingCapacity: true)
        // Each turn of a local time names all devices, and is for some of them.
        if let named = request.audience.named, request.message.turn == nil {
            JSONDetail.append(Int64(named), as: "devices", to: &details)
        }
        JSONDetail.append(request, to: &details)
        addDetailed(.messageAccepted, of: request.message, details: details, at: now)
    }

    package mutating func add(_ completed: CompletedMessage, at now: WallTime) {
        if completed.isExpired { addDetailed(.messageExpired, of: completed.message, details: [], at: now) }
        if let failure = completed.failure {
            var draft = EventDraft(.messageRejected, app: completed.message.app)
            draft.messageID = completed.message.id
            draft.reason = failure.reason
            draft.add("detail", text: failure.detail)
            draft.add("accepted_seq", number: Int64(clamping: EventNumber.shown(completed.seq).number))
            add(draft, at: now)
        }
        if completed.counts != lastCounts.counts {
            lastCounts.text.removeAll(keepingCapacity: true)
            JSONDetail.append(completed.counts, to: &lastCounts.text)
            lastCounts.counts = completed.counts
        }
        addDetailed(.messageCompleted, of: completed.message, details: lastCounts.text, at: now)
    }

    /// Adds an event of a message.
    private mutating func addDetailed(_ kind: EventKind, of message: Message, details: [UInt8], at now: WallTime) {
        let isSame = message === lastMessage
        var fields = isSame ? LogField.sameMessage : LogField.messageID
        if message.traceparent != nil { fields |= isSame ? LogField.sameTraceparent : LogField.traceparent }
        if !details.isEmpty { fields |= LogField.details }
        beginEvent(kind, of: message.app, fields: fields, at: now)
        if !isSame { bytes.appendText(message.id.text) }
        if fields & LogField.traceparent != 0, let traceparent = message.traceparent { bytes.appendText(traceparent) }
        if !details.isEmpty { bytes.appendBytes(details) }
        lastMessage = message
    }

    package mutating func add(_ draft: EventDraft, at now: WallTime) {
        details.removeAll(keepingCapacity: true)
        for detail in draft.details { JSONDetail.append(detail, to: &details) }
        var fields: UInt16 = 0
        if draft.messageID != nil { fields |= LogField.messageID }
        if draft.device != nil { fields |= LogField.device }
        if draft.deliveryID != nil { fields |= LogField.deliveryID }
        if draft.reason != nil { fields |= LogField.reason }
        if !details.isEmpty { fields |= LogField.details }
        if draft.evidence != nil { fields |= LogField.evidence }
        if draft.erases { fields |= LogField.erases }
        beginEvent(draft.kind, of: draft.app, fields: fields, at: now)
        if let id = draft.messageID { bytes.appendText(id.text) }
        if let device = draft.device {
            bytes.appendWords(device.high, device.low)
        }
        if let id = draft.deliveryID {
            bytes.appendWords(id.high, id.low)
        }
        if let reason = draft.reason { bytes.appendText(reason) }
        if !details.isEmpty { bytes.appendBytes(details) }
        if let evidence = draft.evidence { bytes.appendSigned(evidence.milliseconds &- now.milliseconds) }
        lastMessage = nil
    }

    /// Adds an event of another log.
    package mutating func add(_ copy: EventCopy) {
        let parts: [(isThere: Bool, field: UInt16)] = [
            (copy.messageID != nil, LogField.messageID), (copy.device != nil, LogField.device),
            (copy.deliveryID != nil, LogField.deliveryID), (copy.attempt != nil, LogField.attempt),
            (copy.status != nil, LogField.status), (copy.reason != nil, LogField.reason),
            (copy.latency != nil, LogField.latency), (copy.traceparent != nil, LogField.traceparent),
            (copy.details != nil, LogField.details), (copy.evidence != nil, LogField.evidence),
            (copy.erases, LogField.erases),
        ]
        let fields = parts.reduce(UInt16(0)) { $1.isThere ? $0 | $1.field : $0 }
        beginEvent(copy.kind, of: copy.app, fields: fields, at: copy.time)
        if let id = copy.messageID { bytes.appendBytes(id) }
        if let device = copy.device {
            bytes.appendWords(device.high, device.low)
        }
        if let id = copy.deliveryID {
            bytes.appendWords(id.high, id.low)
        }
        for number in [copy.attempt, copy.status] { if let number { bytes.appendVarint(number) } }
        if let reason = copy.reason { bytes.appendBytes(reason) }
        if let latency = copy.latency { bytes.appendVarint(latency) }
        if let traceparent = copy.traceparent { bytes.appendBytes(traceparent) }
        if let details = copy.details { bytes.appendBytes(details) }
        if let evidence = copy.evidence { bytes.appendSigned(evidence.milliseconds &- copy.time.milliseconds) }
        lastMessage = nil
    }

    private mutating func beginEvent(_ kind: EventKind, of app: AppID?, fields: UInt16, at now: WallTime) {
        let head = headIndex(of: kind, app: app)
        if kind == .deviceDeactivated { deactivates = true }
        bytes.append(kind.rawValue)
        bytes.append(UInt8(truncatingIfNeeded: fields))
        bytes.append(UInt8(truncatingIfNeeded: fields >> 8))
        if let app {
            let number = head / Self.kinds
            if listNumbers[number] == 0 {
                listed.append(number)
                listNumbers[number] = listed.count
                bytes.appendVarint(UInt64(listed.count))
                bytes.appendText(app.name)
            } else {
                bytes.appendVarint(UInt64(listNumbers[number]))
            }
        } else {
            bytes.append(0)
        }
        bytes.appendVarint(heads[head] == 0 ? 0 : next - heads[head])
        bytes.appendSigned(now.milliseconds &- time.milliseconds)
        if heads[head] < marked { changed.append((head, heads[head])) }
        heads[head] = next
        next += 1
    }

    private mutating func headIndex(of kind: EventKind, app: AppID?) -> Int {
        if lastApp >= apps.count || apps[lastApp] != app {
            if let known = numbers[app] {
                lastApp = known
            } else {
                lastApp = apps.count
                numbers[app] = lastApp
                apps.append(app)
                listNumbers.append(0)
                heads.append(contentsOf: repeatElement(0, count: Self.kinds))
            }
        }
        return lastApp * Self.kinds + Int(kind.rawValue)
    }
}

/// What the event of a delivery says about its outcome.
private struct LoggedOutcome {
    let kind: EventKind
    var status: UInt64?
    var reason: String?
    /// Whether the time to the answer is known.
    var isAnswered = true

    /// - Parameter details: Receives the members that only this kind of event has.
    @inline(__always)
    init(_ outcome: DeliveryOutcome, details: inout [UInt8]) {
        switch outcome {
        case .sent(let providerID):
            kind = .deliverySent
            status = 200
            if let providerID { JSONDetail.append(providerID, to: &details) }
        case .rejected(let refusal, _):
            kind = .deliveryRejected
            isAnswered = refusal.isAnswer
            status = isAnswered ? UInt64(max(0, refusal.status)) : nil
            reason = refusal.reason?.rawValue
        case .retry(let refusal, let delay):
            kind = .deliveryRetry
            status = UInt64(max(0, refusal.status))
            reason = refusal.reason?.rawValue
            JSONDetail.append(delay.wholeMilliseconds, as: "retry_after_ms", to: &details)
        case .unknown(let cause, let isFinal):
            kind = .deliveryUnknown
            reason = cause.rawValue
            JSONDetail.append(!isFinal, as: "resend", to: &details)
        case .expired:
            kind = .deliveryExpired
            isAnswered = false
        case .expiredBecause(let cause):
            kind = .deliveryExpired
            reason = cause.rawValue
            isAnswered = false
        case .superseded(let id, let seq):
            kind = .deliverySuperseded
            isAnswered = false
            JSONDetail.append(supersededBy: id, seq, to: &details)
        case .suppressed(let suppression):
            kind = .deliverySuppressed
            reason = suppression.rawValue
            isAnswered = false
        }
    }
}
