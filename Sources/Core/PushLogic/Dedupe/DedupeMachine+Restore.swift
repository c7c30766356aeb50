/// Rebuilding the machine from what is stored, after a restart.
///
/// The order is: rows of waiting messages (``addPending(_:)``), rows of keys in ascending order, each with its accepted
/// keys, ended keys and completed messages, and at last ``finishRestoring(scheduled:storedKey:)``.
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

    /// Takes the id of a scheduled message, before any keys are restored.
    package mutating func expectTurns(of fingerprint: UInt64) { sentTurns.expect(fingerprint) }

    /// Reserves room, so that filling the tables moves nothing.
    package func reserve(messages count: Int, deliveries deliveryCount: Int) {
        messages.reserve(count)
        deliveries.reserve(deliveryCount)
    }

    /// Restores the accepted messages of a row of keys, which begins with this number.
    package mutating func restoreAccepted(_ keys: [AcceptedKey], from number: UInt64) {
        let hasPending = pending.openRow(from: number, count: keys.count) != nil
        for (index, key) in keys.enumerated() {
            // The slots are scattered in memory: prefetch some of them, so that the cache misses overlap.
            if index % Self.keysAhead == 0 {
                messages.warm(keys[index...].prefix(Self.keysAhead).lazy.map(\.fingerprint))
            }
            let seq = number &+ UInt64(index)
            messages.recall(seq, of: key.fingerprint, for: key.audience)
            sentTurns.recall(seq, of: key.fingerprint)
            if hasPending, key.isSingle { pending.setNeedsNoClaim(seq) }
        }
    }

    private static var keysAhead: Int { 64 }

    /// Restores the ended deliveries of a row of keys. `scheduled` contains the scheduled messages that are not done.
    package mutating func restoreEnded(_ keys: [EndedKey], scheduled: Set<UInt64>) {
        for (index, key) in keys.enumerated() {
            if index % Self.keysAhead == 0 {
                deliveries.warm(keys[index...].prefix(Self.keysAhead).lazy.map(\.fingerprint))
            }
            restore(key, scheduled: scheduled)
        }
    }

    /// Restores an ended delivery. `scheduled` contains the scheduled messages that are not done.
    package mutating func restore(_ key: EndedKey, scheduled: Set<UInt64>) {
        if key.isClaimed {
            deliveries.insert(key.fingerprint)
            if key.isOnly { endedOnly.insert(key.fingerprint) }
        }
        guard let outcome = key.outcome else { return }
        guard pending.contains(key.seq) || scheduled.contains(key.seq) else {
            if outcome == .sent { sentTurns.restore(1, of: key.seq) }
            return
        }
        recovered[key.seq, default: Recovered()].deliveries.insert(key.fingerprint)
        recovered[key.seq]?.counts.add(outcome)
    }

    /// Restores the fact that a message is done.
    package mutating func restoreCompleted(_ seq: UInt64) {
        _ = pending.complete(seq)
        guard !recovered.isEmpty, let ended = recovered.removeValue(forKey: seq) else { return }
        sentTurns.restore(UInt64(ended.counts.sent), of: seq)
    }

    /// Finishes restoring. `scheduled` contains the scheduled messages that are not done in ascending order, and
    /// `storedKey` returns the key of a message; nil if it cannot be found.
    package mutating func finishRestoring<Failure: Error>(
        scheduled: [ScheduledMessage], storedKey: (UInt64) throws(Failure) -> AcceptedKey?
    ) throws(Failure) {
        for message in scheduled {
            try messages.recallScheduled(message.seq, of: message.fingerprint, for: message.audience) {
                (seq) throws(Failure) in try storedKey(seq)?.audience
            }
        }
        // If an id has several messages and the first one is for a single device, that delivery counts as claimed.
        for first in messages.finishRecalling() {
            if let key = try storedKey(first), key.isSingle { deliveries.insert(key.audience) }
        }
        pending.compact()
        sentTurns.finishRestoring()
    }
}
