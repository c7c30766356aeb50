import PushLogic
import PushModel
import PushTime
import PushWire

/// Decisions on requests: a request is new, a duplicate, or in conflict with an earlier one.
extension LedgerMachine {
    /// Decides on each request, numbers the accepted ones and writes their events into the current segment.
    mutating func decideRequests<Lookup: LedgerLookup>(
        _ group: LedgerGroup, in decided: inout DecidedGroup, _ lookup: Lookup
    ) throws(Lookup.Failure) {
        var cancels = group.cancels[...]
        for (place, batch) in group.requests.enumerated() {
            try decide(&cancels, before: place, in: &decided, lookup)
            let fingerprints = (0..<batch.count).map { fingerprint(of: batch[$0].message) }
            dedupe.warm(fingerprints)
            var index = 0
            while index < batch.count {
                var end = index + 1
                while end < batch.count, batch[end].isJoined { end += 1 }
                if end == index + 1 {
                    decided.replies.append(try decide(batch[index], fingerprints[index], in: &decided, lookup))
                } else {
                    try decide((index..<end).map { batch[$0] }, in: &decided, lookup)
                }
                index = end
            }
        }
        try decide(&cancels, before: .max, in: &decided, lookup)
    }

    private mutating func decide<Lookup: LedgerLookup>(
        _ cancels: inout ArraySlice<LedgerGroup.Cancel>, before place: Int, in decided: inout DecidedGroup,
        _ lookup: Lookup
    ) throws(Lookup.Failure) {
        while let next = cancels.first, next.place <= place {
            let replies = CancelReplies(count: next.requests.count, reply: next.reply)
            for (index, request) in next.requests.enumerated() {
                try decide(request, reply: { replies.take($0, at: index) }, in: &decided, lookup)
            }
            cancels.removeFirst()
        }
    }

    /// Decides on the requests that belong to one envelope. If one of them cannot be accepted, none is.
    private mutating func decide<Lookup: LedgerLookup>(
        _ requests: [PushRequest], in decided: inout DecidedGroup, _ lookup: Lookup
    ) throws(Lookup.Failure) {
        var replies: [Acceptance] = []
        var newCount = 0
        var isRefused = false
        for request in requests {
            let facts = facts(of: request, fingerprint(of: request.message), at: decided.time)
            let decision = try dedupe.foresee(facts, after: newCount, in: decided.dedupe) {
                (seq) throws(Lookup.Failure) in try lookup.key(of: seq)
            }
            switch decision {
            case nil, .new:
                newCount += 1
                replies.append(.withheld)
            case .duplicate(let earlier)?, .unverified(let earlier)?: replies.append(.duplicate(seq: earlier))
            case .conflict(let earlier)?:
                isRefused = true
                replies.append(.conflict(seq: earlier))
            case .expired?:
                isRefused = true
                replies.append(.expired)
            case .refused?:
                isRefused = true
                decided.dedupe.countRefused()
                replies.append(.failed(limitReached))
            }
        }
        if isRefused {
            decided.replies += replies
        } else {
            for request in requests {
                decided.replies.append(try decide(request, fingerprint(of: request.message), in: &decided, lookup))
            }
        }
    }

    private func fingerprint(of message: Message) -> UInt64 {
        identities.message(of: message.app, id: message.id).value
    }

    private func facts(of request: PushRequest, _ fingerprint: UInt64, at now: WallTime) -> DedupeRequest {
        let message = request.message
        return DedupeRequest(
            fingerprint: fingerprint, content: identities.content(of: message),
            audience: identities.audience(of: request.audience, for: message, as: MessageFingerprint(fingerprint)),
            namedCount: message.turn == nil ? request.audience.named : nil,
            isDynamic: request.audience.isDynamic, again: request.again,
            isExpired: message.expiry.isPast(at: now))
    }

    private var limitReached: String {
        "dedupe.limit reached: \(storeName) remembers \(dedupe.rememberedCount) message ids and deliveries; raise "
            + "dedupe.limit, shorten dedupe.window, or send fewer messages"
    }

    private mutating func decide<Lookup: LedgerLookup>(
        _ request: PushRequest, _ fingerprint: UInt64, in decided: inout DecidedGroup, _ lookup: Lookup
    ) throws(Lookup.Failure) -> Acceptance {
        let message = request.message
        let facts = facts(of: request, fingerprint, at: decided.time)
        let isAdmitted = try admit(request, facts, in: &decided, lookup)
        if isAdmitted == false { return .crowded }
        let decision = try dedupe.decide(facts, in: &decided.dedupe) { (seq) throws(Lookup.Failure) in
            try lookup.key(of: seq)
        }
        switch decision {
        case .new(let seq, let key):
            if isAdmitted != nil { decided.activities?.number(seq) }
            accept(request, as: seq, key: key, in: &decided)
            return .accepted(seq: seq)
        case .duplicate(let earlier):
            decided.duplicates.append((message, earlier))
            return .duplicate(seq: earlier)
        case .unverified(let earlier): return .duplicate(seq: earlier)
        case .conflict(let earlier): return .conflict(seq: earlier)
        case .expired: return .expired
        case .refused:
            return .failed(limitReached)
        }
    }

    /// Takes room for a new message to a Live Activity. Returns whether there is any; nil for all other messages.
    private func admit<Lookup: LedgerLookup>(
        _ request: PushRequest, _ facts: DedupeRequest, in decided: inout DecidedGroup, _ lookup: Lookup
    ) throws(Lookup.Failure) -> Bool? {
        guard case .activities(let names) = request.audience, let name = names.first,
            // A message for later waits for its time first.
            request.message.notBefore.map({ $0 <= decided.time.unixSeconds }) ?? true,
            try dedupe.foresee(
                facts, after: 0, in: decided.dedupe,
                storedKey: { (seq) throws(Lookup.Failure) in try lookup.key(of: seq) }) == nil
        else { return nil }
        let activities = decided.activities ?? AdmittedActivities(activityWaits)
        decided.activities = activities
        let activity = identities.activity(of: request.message.app, name: name)
        return activities.admit(ActivityWait(request.message, to: activity), named: name)
    }

    private mutating func accept(
        _ request: PushRequest, as seq: UInt64, key: AcceptedKey, in decided: inout DecidedGroup
    ) {
        let message = request.message
        let now = decided.time
        let needsClaim = !key.isSingle
        writer.add(accepted: request, at: now)
        key.append(to: &decided.rows.acceptedKeys)
        // A message whose time has come is not scheduled.
        let due = message.notBefore.flatMap { $0 > now.unixSeconds ? $0 : nil }
        decided.accepted.append(
            AcceptedMessage(
                seq: seq, acceptedAt: now, fingerprint: MessageFingerprint(key.fingerprint), message: message,
                audience: request.audience, needsClaim: needsClaim, isScheduled: due != nil))
        if let due {
            var body: [UInt8] = []
            MessageRecord.append(message, to: request.audience, needsClaim: needsClaim, &body)
            decided.rows.scheduled.append(
                LedgerRows.ScheduledRow(seq: seq, due: due, key: key, app: message.app, body: body))
            return decided.backlog.add(message.app, scheduled: 1)
        }
        if decided.rows.messages.last?.isFull ?? true {
            let left = decided.expected - decided.accepted.count + 1
            decided.rows.messages.append(MessageRowBuilder(first: seq, expecting: left))
        }
        decided.rows.messages[decided.rows.messages.count - 1].add(request, seq, needsClaim: needsClaim)
        decided.backlog.add(message.app, waiting: 1)
    }
}
