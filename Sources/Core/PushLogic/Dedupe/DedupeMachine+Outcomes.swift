package import PushModel
package import PushTime

/// Ended deliveries and completed messages, and the end of a group.
extension DedupeMachine {
    /// The effect of a completed message.
    package enum Completion: Equatable, Sendable {
        /// The message waited, and others of its row still do.
        case done
        /// The message was the last of its row, which begins with this number and is to be removed.
        case rowDone(UInt64)
        /// The message was scheduled and is to be removed.
        case unscheduled
        /// The message is not known or was done before.
        case unknown
    }

    /// Takes a delivery that ended, and returns the key to store for it; nil if the key of its message is enough.
    ///
    /// A message for one device usually needs no second key, since its ``AcceptedKey`` identifies the delivery. It
    /// needs one if it was scheduled or waited for long, because its message id is forgotten long before the delivery
    /// may be.
    ///
    /// - Parameters:
    ///   - holdsDevice: Whether no other message with the same id is sent to the device.
    ///   - acceptedAt: The time at which the message was accepted.
    ///   - delivery: Returns the fingerprint of the delivery. It is called only if there is a key.
    ///   - scheduledKey: Returns the key of a scheduled message; nil for any other number.
    package mutating func end<Failure: Error>(
        _ seq: UInt64, as outcome: FinalOutcome, holdsDevice: Bool, acceptedAt: WallTime, at now: WallTime,
        in group: inout DedupeGroup, delivery: () -> UInt64, scheduledKey: (UInt64) throws(Failure) -> AcceptedKey?
    ) throws(Failure) -> EndedKey? {
        let isOnly: Bool
        switch pending.needsClaim(seq) {
        case true?: isOnly = false
        case false?:
            guard now.milliseconds(since: acceptedAt) >= longWait else { return nil }
            isOnly = true
        case nil: isOnly = try scheduledKey(seq)?.isSingle ?? false
        }
        let key = EndedKey(fingerprint: delivery(), seq: seq, outcome: outcome, isClaimed: holdsDevice, isOnly: isOnly)
        if isOnly, key.isClaimed { group.endedOnly.append(key.fingerprint) }
        return key
    }

    /// Takes a message that is done. `scheduledKey` returns the key of a scheduled message, and `hasStoredKey` whether
    /// a row of keys still contains the message.
    package mutating func complete<Failure: Error>(
        _ seq: UInt64, in group: inout DedupeGroup, scheduledKey: (UInt64) throws(Failure) -> AcceptedKey?,
        hasStoredKey: (UInt64) throws(Failure) -> Bool
    ) throws(Failure) -> Completion {
        let completion: Completion
        switch pending.complete(seq) {
        case .done:
            group.closed.append(seq)
            completion = .done
        case .rowDone(let first):
            group.closed.append(seq)
            if !pinned.isEmpty { group.released.append(first) }
            completion = .rowDone(first)
        case .unknown:
            if let key = try scheduledKey(seq) {
                // From the commit on, nothing else keeps an id that is older than the window. The keys of the
                // deliveries are kept.
                if try !hasStoredKey(seq) { group.forgotten.append((key, seq)) }
                group.unscheduledCount += 1
                completion = .unscheduled
            } else {
                completion = .unknown
            }
        }
        group.completed.append(seq)
        if !pinned.isEmpty { group.released.append(seq) }
        return completion
    }

    // MARK: The end of a group

    /// Ends a group that is stored.
    package mutating func commit(_ group: borrowing DedupeGroup) {
        refusedCount &+= group.refusedCount
        for delivery in group.endedOnly {
            deliveries.insert(delivery)
            endedOnly.insert(delivery)
        }
        for (key, seq) in group.forgotten { forget(key, seq: seq) }
        for message in group.released { pinned.release(message) }
        if !group.closed.isEmpty { pending.compact() }
        if !recovered.isEmpty { for seq in group.completed { recovered[seq] = nil } }
    }

    /// Undoes the decisions of a group that could not be stored.
    package mutating func undo(_ group: borrowing DedupeGroup) {
        for added in group.later.reversed() { messages.takeBack(added) }
        for (index, key) in group.accepted.enumerated() {
            messages.takeBackFirst(group.first &+ UInt64(index), of: key.fingerprint)
        }
        for delivery in group.claimed { deliveries.remove(delivery) }
        for seq in group.closed { pending.reopen(seq) }
        for id in group.cancelled { cancelledIDs.remove(id) }
    }
}
