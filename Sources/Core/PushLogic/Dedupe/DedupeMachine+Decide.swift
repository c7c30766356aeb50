/// Decisions on requests: a request is new, a duplicate, or in conflict with an earlier one.
extension DedupeMachine {
    /// Prefetches what decisions on requests with these fingerprints look up. It is scattered in memory.
    package func warm(_ fingerprints: [UInt64]) { messages.warm(fingerprints) }

    /// Returns what ``decide(_:in:storedKey:)`` would decide upon a request, or nil if it would accept it. Nothing
    /// changes.
    ///
    /// - Parameter count: The number of messages of other ids that are accepted before this one.
    package func foresee<Failure: Error>(
        _ request: DedupeRequest, after count: Int, in group: borrowing DedupeGroup,
        storedKey: (UInt64) throws(Failure) -> AcceptedKey?
    ) throws(Failure) -> DedupeDecision? {
        if let known = messages.first(of: request.fingerprint) {
            let decision = try decision(on: request, knownAs: known, in: group, storedKey: storedKey)
            if let decision { return decision }
        } else if let cancelled = cancelledIDs.value(of: request.fingerprint) {
            return .unverified(of: cancelled)
        }
        // A message may add the delivery of the first one of its id to those that are remembered.
        return refusal(of: request, after: 2 * count)
    }

    /// Decides on a request. `storedKey` returns the key of a message of an earlier group; nil if it cannot be found.
    package mutating func decide<Failure: Error>(
        _ request: DedupeRequest, in group: inout DedupeGroup,
        storedKey: (UInt64) throws(Failure) -> AcceptedKey?
    ) throws(Failure) -> DedupeDecision {
        if let known = messages.first(of: request.fingerprint) {
            return try decide(request, knownAs: known, in: &group, storedKey: storedKey)
        }
        // The cancellation is younger than the message, and is remembered for longer.
        if let cancelled = cancelledIDs.value(of: request.fingerprint) { return .unverified(of: cancelled) }
        if let refusal = refusal(of: request, in: &group) { return refusal }
        let key = AcceptedKey(
            fingerprint: request.fingerprint, content: request.content, audience: request.audience,
            // A delivery that ended late is remembered for longer than its message id. The device is then claimed.
            isSingle: request.namedCount == 1 && !deliveries.contains(request.audience))
        let seq = group.add(key)
        messages.addFirst(seq, of: key.fingerprint)
        return .new(seq: seq, key: key)
    }

    /// Returns the messages of earlier groups whose stored keys ``decide(_:in:storedKey:)`` may ask for. An engine that
    /// cannot look up a key while a decision waits reads them before.
    package func storedKeys(for fingerprint: UInt64, audience: () -> UInt64) -> (first: UInt64, later: UInt64?)? {
        guard let first = messages.first(of: fingerprint) else { return nil }
        let hasLater = messages.laterCount > 0
        return (first, hasLater ? messages.later(of: fingerprint, for: audience()) : nil)
    }

    /// Returns the decision on a request whose id is remembered; nil if it is another message with this id, which is
    /// accepted unless there is no room. `known` is the first message with the id.
    private func decision<Failure: Error>(
        on request: DedupeRequest, knownAs known: UInt64, in group: borrowing DedupeGroup,
        storedKey: (UInt64) throws(Failure) -> AcceptedKey?
    ) throws(Failure) -> DedupeDecision? {
        guard let first = try Self.key(of: known, in: group, storedKey) else { return .unverified(of: known) }
        guard first.content == request.content else { return .conflict(with: known) }
        // Nothing of a cancelled id goes out, whatever the audience, and also if devices have joined it.
        if cancelledIDs.contains(request.fingerprint) { return .duplicate(of: known) }
        if !(request.again && request.isDynamic) {
            if first.audience == request.audience { return .duplicate(of: known) }
            // The number is found by a hash of 64 bits: compare the key itself.
            if let later = messages.later(of: request.fingerprint, for: request.audience),
                let stored = try Self.key(of: later, in: group, storedKey), stored.fingerprint == request.fingerprint,
                stored.audience == request.audience
            {
                return .duplicate(of: later)
            }
        }
        return nil
    }

    private static func key<Failure: Error>(
        of seq: UInt64, in group: borrowing DedupeGroup, _ storedKey: (UInt64) throws(Failure) -> AcceptedKey?
    ) throws(Failure) -> AcceptedKey? {
        seq >= group.first ? group.key(of: seq) : try storedKey(seq)
    }

    /// Decides on a request whose id is remembered. `known` is the first message with it.
    private mutating func decide<Failure: Error>(
        _ request: DedupeRequest, knownAs known: UInt64, in group: inout DedupeGroup,
        storedKey: (UInt64) throws(Failure) -> AcceptedKey?
    ) throws(Failure) -> DedupeDecision {
        if let decision = try decision(on: request, knownAs: known, in: group, storedKey: storedKey) {
            return decision
        }
        if let refusal = refusal(of: request, in: &group) { return refusal }
        guard let first = try Self.key(of: known, in: group, storedKey) else { return .unverified(of: known) }
        // Another message with this id now exists, so the first message's delivery must be among the claimed ones.
        if first.isSingle, deliveries.insert(first.audience) { group.claimed.append(first.audience) }
        let added = AcceptedKey(
            fingerprint: request.fingerprint, content: request.content, audience: request.audience, isSingle: false)
        let seq = group.add(added)
        group.later.append(messages.addLater(seq, of: added.fingerprint, for: added.audience))
        return .new(seq: seq, key: added)
    }

    /// Returns why a request that is not known is not accepted; nil if it is.
    private mutating func refusal(of request: DedupeRequest, in group: inout DedupeGroup) -> DedupeDecision? {
        let refusal = refusal(of: request, after: 0)
        if refusal == .refused { group.refusedCount &+= 1 }
        return refusal
    }

    /// Returns why a request that is not known is not accepted after so many more are remembered; nil if it is. Messages
    /// that were accepted earlier are still sent at the limit, and their deliveries are remembered beyond it.
    private func refusal(of request: DedupeRequest, after count: Int) -> DedupeDecision? {
        if request.isExpired { return .expired }
        return rememberedCount + count < limit ? nil : .refused
    }
}
