import PushLogic
import PushModel
import PushTime
import PushWire

/// Decisions on requests: a request is new, a duplicate, or in conflict with an earlier one.
extension LedgerCore {
    /// The data that one group of requests adds to the disk, and to memory after the commit.
    struct Intake {
        /// The keys of the accepted messages as words, in the form in which they are stored.
        var keyWords: [UInt64] = []
        var accepted: [AcceptedMessage] = []
        var replies: [[Acceptance]] = []
        var rows: [MessageRowBuilder] = []
        var scheduled: [(seq: UInt64, due: UnixSeconds, key: AcceptedKey, app: AppID, body: [UInt8])] = []
        var duplicates: [(Message, seq: UInt64)] = []

        init(reserving count: Int) {
            keyWords.reserveCapacity(3 * count)
            accepted.reserveCapacity(count)
        }
    }

    /// Decides on each request, numbers the accepted ones and writes their events into the current segment. If it
    /// throws, the caller must undo `decided`.
    func decide(
        _ group: LedgerGroup, at now: WallTime, in decided: inout DedupeGroup, into intake: inout Intake,
        _ cancelGroup: inout CancelGroup
    ) throws(StoreError) {
        var cancels = group.cancels[...]
        func decideCancels(before place: Int) throws(StoreError) {
            while let next = cancels.first, next.place <= place {
                try decide(next.request, reply: next.reply, in: &decided, into: &cancelGroup)
                cancels.removeFirst()
            }
        }
        for (place, (requests, _)) in group.requests.enumerated() {
            try decideCancels(before: place)
            var replies: [Acceptance] = []
            replies.reserveCapacity(requests.count)
            for request in requests { replies.append(try decide(request, at: now, in: &decided, into: &intake)) }
            intake.replies.append(replies)
        }
        try decideCancels(before: .max)
    }

    private func decide(
        _ request: PushRequest, at now: WallTime, in decided: inout DedupeGroup, into intake: inout Intake
    ) throws(StoreError) -> Acceptance {
        let message = request.message
        let fingerprint = identities.message(of: message.app, id: message.id)
        let facts = DedupeRequest(
            fingerprint: fingerprint.value, content: identities.content(of: message),
            audience: identities.audience(of: request.audience, app: message.app, message: fingerprint),
            namedCount: request.audience.named, isDynamic: request.audience.isDynamic, again: request.again,
            isExpired: message.expiry.isPast(at: now))
        let decision = try dedupe.decide(facts, in: &decided) { (seq) throws(StoreError) in try self.key(of: seq) }
        switch decision {
        case .new(let seq, let key):
            accept(request, as: seq, key: key, at: now, into: &intake)
            return .accepted(seq: seq)
        case .duplicate(let earlier):
            intake.duplicates.append((message, earlier))
            return .duplicate(seq: earlier)
        case .unverified(let earlier): return .duplicate(seq: earlier)
        case .conflict(let earlier): return .conflict(seq: earlier)
        case .expired: return .expired
        case .refused:
            return .failed(
                "dedupe.limit reached: \(connection.path) remembers \(dedupe.rememberedCount) message ids and "
                    + "deliveries; raise dedupe.limit, shorten dedupe.window, or send fewer messages")
        }
    }

    private func accept(
        _ request: PushRequest, as seq: UInt64, key: AcceptedKey, at now: WallTime, into intake: inout Intake
    ) {
        let message = request.message
        let needsClaim = !key.isSingle
        writer.add(accepted: request, at: now)
        key.append(to: &intake.keyWords)
        // A message whose time has come is not scheduled.
        if let due = message.notBefore, due > now.unixSeconds {
            var body: [UInt8] = []
            MessageRecord.append(message, to: request.audience, needsClaim: needsClaim, &body)
            intake.scheduled.append((seq, due, key, message.app, body))
            intake.accepted.append(
                AcceptedMessage(
                    seq: seq, acceptedAt: now, fingerprint: MessageFingerprint(key.fingerprint), message: message,
                    audience: request.audience, needsClaim: needsClaim, isScheduled: true))
            backlog.add(message.app, scheduled: 1)
            return
        }
        if intake.rows.last?.isFull ?? true { intake.rows.append(MessageRowBuilder(first: seq)) }
        intake.rows[intake.rows.count - 1].add(request, seq, needsClaim: needsClaim)
        intake.accepted.append(
            AcceptedMessage(
                seq: seq, acceptedAt: now, fingerprint: MessageFingerprint(key.fingerprint), message: message,
                audience: request.audience, needsClaim: needsClaim))
        backlog.add(message.app, waiting: 1)
    }

    /// Returns the key of an accepted message of an earlier group.
    func key(of seq: UInt64) throws(StoreError) -> AcceptedKey? {
        if let key = try storedKey(of: seq) { return key }
        // A scheduled message can be older than the dedupe window.
        return try scheduledKey(of: seq)
    }

    func scheduledKey(of seq: UInt64) throws(StoreError) -> AcceptedKey? {
        let find = statements.findScheduled
        defer { find.reset() }
        find.bind(1, seq)
        guard try find.step() else { return nil }
        return AcceptedKey(fingerprint: find.word(3), storedContent: find.word(4), audience: find.word(5))
    }

    /// Returns the key of a message that is within the dedupe window.
    func storedKey(of seq: UInt64) throws(StoreError) -> AcceptedKey? {
        if keyRow.map({ seq < $0.number || seq - $0.number >= UInt64($0.accepted.count / AcceptedKey.size) }) ?? true {
            let find = statements.findKeys
            defer { find.reset() }
            find.bind(1, seq)
            keyRow = try find.step() ? (find.word(0), find.blob(1)) : nil
        }
        guard let keyRow, seq >= keyRow.number else { return nil }
        let index = Int(clamping: seq - keyRow.number)
        guard index < keyRow.accepted.count / AcceptedKey.size else { return nil }
        return unsafe keyRow.accepted.withUnsafeBytes { unsafe AcceptedKey($0, at: index) }
    }
}
