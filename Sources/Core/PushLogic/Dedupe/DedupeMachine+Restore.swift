/// Rebuilding the machine from what is stored, after a restart.
///
/// The order is: rows of waiting messages (``addPending(_:)``), scheduled messages, rows of keys in ascending order, each
/// with its accepted keys, ended keys and completed messages, and at last ``finishRestoring(storedKey:)``.
extension DedupeMachine {
    /// The facts about a scheduled message that is not done.
    package struct ScheduledMessage: Sendable {
        package let seq: UInt64
        package let fingerprint: UInt64
        package let audience: UInt64

        package init(seq: UInt64, fingerprint: UInt64, audience: UInt64) {
            self.seq = seq
            self.fingerprint = fingerprint
            self.audience = audience
        }
    }

    /// Takes scheduled messages that are not done, in ascending order, before any keys are restored.
    package mutating func restore(scheduled messages: [ScheduledMessage]) { scheduled.add(messages, space: space) }

    /// Reserves room, so that filling the tables moves nothing.
    ///
    /// - Parameters:
    ///   - count: The number of messages in rows of keys.
    ///   - number: The number of the first row of keys. Later scheduled messages are mostly in rows, too.
    ///   - deliveryCount: The number of ended deliveries.
    package func reserve(messages count: Int, from number: UInt64, deliveries deliveryCount: Int) {
        messages.reserve(count + scheduled.count(before: number))
        deliveries.reserve(deliveryCount)
    }

    /// Restores the accepted messages of a row of keys, which begins with this number.
    package mutating func restoreAccepted(_ keys: [AcceptedKey], from number: UInt64) {
        let hasPending = pending.openRow(from: number, count: keys.count) != nil
        let hasScheduled = !scheduled.isEmpty
        if hasScheduled { scheduled.beginRow(at: number) }
        for (index, key) in keys.enumerated() {
            let seq = number &+ UInt64(index)
            // The slots are scattered in memory: prefetch some of them, so that the cache misses overlap.
            if index % Self.keysAhead == 0 {
                let part = keys[index...].prefix(Self.keysAhead)
                messages.warm(part.lazy.map(\.fingerprint))
                if hasScheduled { scheduled.warm(part, from: seq) }
            }
            messages.recall(seq, of: key.fingerprint, for: key.audience)
            if hasScheduled { scheduled.recall(seq, of: key.fingerprint) }
            if hasPending, key.isSingle { pending.setNeedsNoClaim(seq) }
        }
    }

    static var keysAhead: Int { 64 }

    /// Restores the ended deliveries of a row of keys.
    package mutating func restoreEnded(_ keys: [EndedKey]) {
        for (index, key) in keys.enumerated() {
            if index % Self.keysAhead == 0 {
                deliveries.warm(keys[index...].prefix(Self.keysAhead).lazy.map(\.fingerprint))
            }
            restore(key, isScheduled: nil)
        }
    }

    /// Restores an ended delivery.
    ///
    /// - Parameter isScheduled: Whether its message is a scheduled one that is not done; nil if it is one of those that
    ///   ``restore(scheduled:)`` took.
    package mutating func restore(_ key: EndedKey, isScheduled: Bool?) {
        if key.isClaimed {
            deliveries.insert(key.fingerprint)
            if key.isOnly { endedOnly.insert(key.fingerprint) }
        }
        guard let outcome = key.outcome else { return }
        guard pending.contains(key.seq) || isScheduled ?? scheduled.contains(key.seq) else {
            if outcome == .sent { addSentTurns(1, of: key.seq) }
            return
        }
        recovered[key.seq, default: Recovered()].deliveries.insert(key.fingerprint)
        recovered[key.seq]?.counts.add(outcome)
    }

    /// Restores the fact that a message is done.
    package mutating func restoreCompleted(_ seq: UInt64) {
        _ = pending.complete(seq)
        guard !recovered.isEmpty, let ended = recovered.removeValue(forKey: seq) else { return }
        addSentTurns(UInt64(ended.counts.sent), of: seq)
    }

    /// Takes deliveries of a message that is done.
    private mutating func addSentTurns(_ count: UInt64, of seq: UInt64) {
        if let fingerprint = scheduled.id(of: seq) { sentTurns.add(count, to: fingerprint) }
    }

    /// Finishes restoring. `storedKey` returns the key of a message; nil if it cannot be found.
    package mutating func finishRestoring<Failure: Error>(
        storedKey: (UInt64) throws(Failure) -> AcceptedKey?
    ) throws(Failure) {
        try exchange(&scheduled, with: ScheduledMessages()).end { (part) throws(Failure) in
            messages.warm(part.lazy.map(\.fingerprint))
            for message in part {
                try messages.recallScheduled(message.seq, of: message.fingerprint, for: message.audience) {
                    (seq) throws(Failure) in try storedKey(seq)?.audience
                }
            }
        }
        // If an id has several messages and the first one is for a single device, that delivery counts as claimed.
        for first in messages.finishRecalling() {
            if let key = try storedKey(first), key.isSingle { deliveries.insert(key.audience) }
        }
        pending.compact()
    }
}
