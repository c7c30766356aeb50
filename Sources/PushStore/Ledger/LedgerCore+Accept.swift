import PushModel
import PushTime
import PushWire

/// Decisions on requests: a request is new, a duplicate, or in conflict with an earlier one.
extension LedgerCore {
    /// The data that one group of requests adds to the disk, and to memory after the commit.
    struct Intake {
        /// The number of the group's first event.
        let first: UInt64
        var keys: [AcceptedKey] = []
        /// The same keys as words, in the form in which they are stored.
        var keyWords: [UInt64] = []
        var accepted: [AcceptedMessage] = []
        var replies: [[Acceptance]] = []
        var rows: [MessageRowBuilder] = []
        var scheduled: [(seq: UInt64, due: Int64, key: AcceptedKey, app: AppID, body: [UInt8])] = []
        var duplicates: [(Message, seq: UInt64)] = []
        /// The fingerprints of new ids. `forget` takes them back if the commit fails.
        var newIDs: [UInt64] = []
        /// The further messages of known ids. `forget` takes them back if the commit fails.
        var later: [RememberedMessages.Added] = []

        init(first: UInt64) {
            self.first = first
        }
    }

    /// Decides on each request, numbers the accepted ones and writes their events into the current segment. If it
    /// throws, the caller must pass `intake` to `forget`.
    func decide(
        _ groups: [([PushRequest], @Sendable ([Acceptance]) -> Void)], at now: Int64, _ intake: inout Intake
    ) throws(StoreError) {
        let count = groups.reduce(0) { $0 + $1.0.count }
        intake.keys.reserveCapacity(count)
        intake.keyWords.reserveCapacity(3 * count)
        intake.accepted.reserveCapacity(count)
        for (requests, _) in groups {
            var replies: [Acceptance] = []
            replies.reserveCapacity(requests.count)
            for request in requests { replies.append(try decide(request, at: now, &intake)) }
            intake.replies.append(replies)
        }
    }

    private func decide(_ request: PushRequest, at now: Int64, _ intake: inout Intake) throws(StoreError) -> Acceptance
    {
        let message = request.message
        let fingerprint = identities.message(message.app, message.id)
        var key = AcceptedKey(
            fingerprint: fingerprint.value, content: identities.content(of: message),
            audience: identities.audience(of: request.audience, message.app, fingerprint), isSingle: false)
        let isLate = message.isExpired(at: WallTime(milliseconds: now))
        guard let known = messages.first(of: key.fingerprint) else {
            if isLate { return .expired }
            if let refusal = overLimit { return refusal }
            // A delivery that ended late is remembered for longer than its message id. The device is then claimed.
            key.isSingle = request.audience.named == 1 && !deliveries.contains(key.audience)
            let seq = accept(request, key, needsClaim: !key.isSingle, at: now, &intake)
            messages.addFirst(seq, of: key.fingerprint)
            intake.newIDs.append(key.fingerprint)
            return .accepted(seq: seq)
        }
        let first = try self.key(of: known, intake)
        // The key of the earlier message cannot be read. To send a message twice would be worse than to call it a
        // duplicate.
        guard let first else { return .duplicate(seq: known) }
        guard first.hasContent(of: key) else { return .conflict(seq: known) }
        if !(request.again && request.audience.isDynamic) {
            var earlier = first.audience == key.audience ? known : nil
            if earlier == nil, let later = messages.later(of: key.fingerprint, for: key.audience),
                let stored = try self.key(of: later, intake), stored.fingerprint == key.fingerprint,
                stored.audience == key.audience
            {
                earlier = later
            }
            if let earlier {
                intake.duplicates.append((message, earlier))
                return .duplicate(seq: earlier)
            }
        }
        if isLate { return .expired }
        if let refusal = overLimit { return refusal }
        // Another message with this id now exists, so the first message's delivery must be among the claimed ones.
        if first.isSingle { deliveries.insert(first.audience) }
        let seq = accept(request, key, needsClaim: true, at: now, &intake)
        intake.later.append(messages.addLater(seq, of: key.fingerprint, for: key.audience))
        return .accepted(seq: seq)
    }

    /// The number of remembered ids and deliveries, which `LedgerRetention.keyLimit` bounds.
    var rememberedCount: Int { messages.count + deliveries.count }

    /// The answer to new messages while the limit is reached, otherwise nil. Messages that were accepted earlier are
    /// still sent, and their deliveries are remembered beyond the limit.
    private var overLimit: Acceptance? {
        guard rememberedCount >= retention.keyLimit else { return nil }
        refusedByLimit &+= 1
        return .failed(
            "dedupe.limit reached: \(connection.path) remembers \(rememberedCount) message ids and deliveries; raise "
                + "dedupe.limit, shorten dedupe.window, or send fewer messages")
    }

    private func accept(
        _ request: PushRequest, _ key: AcceptedKey, needsClaim: Bool, at now: Int64, _ intake: inout Intake
    ) -> UInt64 {
        // Accepted messages are the group's first events. To read `writer.next` here would copy the writer for each
        // message.
        let seq = intake.first + UInt64(intake.keys.count)
        let message = request.message
        writer.add(accepted: request, at: now)
        intake.keys.append(key)
        intake.keyWords.append(key.fingerprint)
        intake.keyWords.append(key.content)
        intake.keyWords.append(key.audience)
        // A message whose time has come is not scheduled.
        if let due = message.notBefore, due > now / 1000 {
            var body: [UInt8] = []
            MessageRecord.append(message, to: request.audience, needsClaim: needsClaim, &body)
            intake.scheduled.append((seq, due, key, message.app, body))
            intake.accepted.append(
                AcceptedMessage(
                    seq: seq, acceptedAt: now, fingerprint: MessageFingerprint(key.fingerprint), message: message,
                    audience: request.audience, needsClaim: needsClaim, isScheduled: true))
            backlog.add(message.app, scheduled: 1)
            return seq
        }
        if intake.rows.last?.isFull ?? true { intake.rows.append(MessageRowBuilder(first: seq)) }
        intake.rows[intake.rows.count - 1].add(request, seq, needsClaim: needsClaim)
        intake.accepted.append(
            AcceptedMessage(
                seq: seq, acceptedAt: now, fingerprint: MessageFingerprint(key.fingerprint), message: message,
                audience: request.audience, needsClaim: needsClaim))
        backlog.add(message.app, waiting: 1)
        return seq
    }

    /// Returns the key of an accepted message of this group or of an earlier one.
    private func key(of seq: UInt64, _ intake: Intake) throws(StoreError) -> AcceptedKey? {
        if seq >= intake.first {
            let index = Int(clamping: seq - intake.first)
            return index < intake.keys.count ? intake.keys[index] : nil
        }
        return try key(of: seq)
    }

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
        return AcceptedKey(fingerprint: find.word(3), content: find.word(4), audience: find.word(5))
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

    /// Undoes the decisions of a group whose commit failed.
    func forget(_ intake: Intake) {
        for added in intake.later.reversed() { messages.takeBack(added) }
        for fingerprint in intake.newIDs { messages.takeBackFirst(of: fingerprint) }
    }
}
