import PushLogic
import PushModel
import PushTime
import PushWire

/// Cancellation. The first group stores that the id is cancelled, and the witness stops its messages; a second group
/// stores the counts, completes the messages that only the store knows, and answers.
extension LedgerMachine {
    /// Decides on a request to cancel, in the order of the requests of the group.
    mutating func decide<Lookup: LedgerLookup>(
        _ request: CancelRequest, reply: @escaping @Sendable (Cancellation) -> Void, in decided: inout DecidedGroup,
        _ lookup: Lookup
    ) throws(Lookup.Failure) {
        let fingerprint = identities.message(of: request.app, id: request.id).value
        let scheduledCount = scheduledCount
        let decision = try dedupe.cancel(fingerprint, in: &decided.dedupe) { (seq) throws(Lookup.Failure) in
            scheduledCount > 0 ? try lookup.scheduledKey(of: seq) != nil : false
        }
        switch decision {
        case .unknown: decided.cancels.answers.append((reply, .unknown))
        case .tooLate: decided.cancels.answers.append((reply, .tooLate))
        case .known(let number): try answer(reply, about: number, in: &decided, lookup)
        case .new(let number, let open):
            decided.cancels.new.append(
                CancelGroup.New(
                    number: number, open: open,
                    cancel: LedgerCancels.Open(
                        request: request, fingerprint: fingerprint, parts: [], replies: [reply],
                        sentBefore: dedupe.sentTurns.count(of: fingerprint))))
        }
    }

    /// Answers a repeated request with the counts of the first one, or lets it wait for them.
    private func answer<Lookup: LedgerLookup>(
        _ reply: @escaping @Sendable (Cancellation) -> Void, about number: UInt64, in decided: inout DecidedGroup,
        _ lookup: Lookup
    ) throws(Lookup.Failure) {
        if let index = decided.cancels.new.firstIndex(where: { $0.number == number }) {
            return decided.cancels.new[index].cancel.replies.append(reply)
        }
        if cancels.open[number] != nil { return decided.cancels.waiting.append((reply, number)) }
        let counts = try lookup.cancellation(number)?.counts
        decided.cancels.answers.append((reply, counts.map { .cancelled($0) } ?? .tooLate))
    }

    /// Completes the new cancellations of a group, after its accepted messages and its outcomes.
    func prepareCancels<Lookup: LedgerLookup>(
        in decided: inout DecidedGroup, _ lookup: Lookup
    ) throws(Lookup.Failure) {
        let first = decided.rows.number
        for index in decided.cancels.new.indices {
            let new = decided.cancels.new[index]
            var words: [UInt64] = []
            for seq in new.open {
                let place = Int(clamping: seq &- first)
                let isOfGroup = seq >= first && place < decided.accepted.count - decided.firstAccepted
                let message =
                    isOfGroup
                    ? decided.accepted[decided.firstAccepted + place] : try message(seq, in: decided, lookup)
                decided.cancels.new[index].cancel.parts.append(
                    part(seq, message, of: new.cancel.request, at: decided.time))
                StoredCancelPart(seq: seq).append(to: &words)
            }
            decided.rows.addedCancels.append(
                LedgerRows.AddedCancel(
                    number: new.number, fingerprint: new.cancel.fingerprint, request: new.cancel.request,
                    parts: words))
        }
    }

    /// Returns a message of an earlier group that is not done; nil if it is damaged, which does not keep it from being
    /// cancelled.
    private func message<Lookup: LedgerLookup>(
        _ seq: UInt64, in decided: borrowing DecidedGroup, _ lookup: Lookup
    ) throws(Lookup.Failure) -> AcceptedMessage? {
        if dedupe.pending.contains(seq) {
            return try lookup.message(seq, isScheduled: false).map { accepted(seq, $0) }
        }
        guard try isScheduled(seq, in: decided, lookup) else { return nil }
        return try lookup.message(seq, isScheduled: true).map { accepted(seq, $0) }
    }

    /// Returns a stored message as it was accepted, with the outcomes that it had before the restart.
    func accepted(_ seq: UInt64, _ stored: StoredMessage) -> AcceptedMessage {
        let content = stored.content
        return AcceptedMessage(
            seq: seq, acceptedAt: stored.time,
            fingerprint: identities.message(of: content.message.app, id: content.message.id),
            message: content.message, audience: content.audience, needsClaim: content.needsClaim,
            counts: dedupe.recoveredCounts(of: seq))
    }

    func part(
        _ seq: UInt64, _ accepted: AcceptedMessage?, of request: CancelRequest, at now: WallTime
    ) -> LedgerCancels.Part {
        let message = Message(
            id: request.id, app: request.app, payload: [], traceparent: accepted?.message.traceparent)
        let isAhead = accepted?.message.notBefore.map { $0 > now.unixSeconds } ?? false
        return LedgerCancels.Part(
            seq: seq, message: message,
            lane: isAhead ? nil : accepted.map { Lane(of: $0.message, to: $0.audience) },
            isOfActivity: accepted?.message.kind == .activity,
            named: accepted.flatMap { $0.isDynamic ? nil : differentNames(of: $0.audience, app: request.app) },
            begin: accepted?.begin, isTurn: accepted?.message.turn != nil)
    }

    /// Returns the number of different devices that an audience names; nil if the registry determines them.
    private func differentNames(of audience: Audience, app: AppID) -> Int? {
        var seen: Set<DeviceID>
        switch audience {
        case .tokens(let tokens):
            if tokens.count == 1 { return 1 }
            seen = Set(minimumCapacity: tokens.count)
            for token in tokens { seen.insert(identities.device(of: app, token: token)) }
        case .devices(let devices): seen = Set(devices)
        case .users, .tags, .everyone, .activities: return nil
        }
        return seen.count
    }
}
