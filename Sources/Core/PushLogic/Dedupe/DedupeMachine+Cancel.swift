/// Cancelled ids. A cancelled id stays known for the whole window after its cancellation: a request with it and the
/// same content is a duplicate, whatever its audience.
extension DedupeMachine {
    /// A decision on a request to cancel an id.
    package enum CancelDecision: Equatable, Sendable {
        /// The id is not remembered.
        case unknown
        /// All messages with the id are done.
        case tooLate
        /// The id was cancelled before, by the cancellation with this number.
        case known(UInt64)
        /// The id is cancelled from now on. The cancellation has the number of the first message with the id; `open`
        /// contains the messages that are not done.
        case new(number: UInt64, open: [UInt64])
    }

    /// Decides on a request to cancel the messages with an id. `isScheduled` returns whether a message is a scheduled
    /// one of an earlier group that is not done.
    package mutating func cancel<Failure: Error>(
        _ fingerprint: UInt64, in group: inout DedupeGroup, isScheduled: (UInt64) throws(Failure) -> Bool
    ) throws(Failure) -> CancelDecision {
        if let number = cancelledIDs.value(of: fingerprint) { return .known(number) }
        let all = messages.all(of: fingerprint)
        guard let number = all.first else { return .unknown }
        var open: [UInt64] = []
        for seq in all {
            // Messages of this group are not among the pending ones yet.
            if seq >= group.first || pending.contains(seq) {
                open.append(seq)
            } else if try isScheduled(seq) {
                open.append(seq)
            }
        }
        if open.isEmpty { return .tooLate }
        cancelledIDs.set(number, for: fingerprint)
        group.cancelled.append(fingerprint)
        return .new(number: number, open: open)
    }

    /// Returns what ``cancel(_:in:isScheduled:)`` leads to: the number of an earlier cancellation of the id, otherwise
    /// the messages with it.
    package func known(_ fingerprint: UInt64) -> (cancellation: UInt64?, messages: [UInt64]) {
        if let number = cancelledIDs.value(of: fingerprint) { return (number, []) }
        return (nil, messages.all(of: fingerprint))
    }

    /// The number of cancelled ids that are remembered.
    package var cancelledCount: Int { cancelledIDs.count }

    /// Restores a cancelled id after a restart.
    package func restoreCancelled(_ fingerprint: UInt64, number: UInt64) { cancelledIDs.set(number, for: fingerprint) }

    /// Forgets a cancelled id, after the commit that removed its row: it is older than the window, or nothing of it
    /// could be cancelled after all.
    package func forgetCancelled(_ fingerprint: UInt64) { cancelledIDs.remove(fingerprint) }

    /// Forgets a cancelled id that is older than the window, unless it was cancelled anew under another number.
    package func forgetCancelled(_ fingerprint: UInt64, number: UInt64) {
        if cancelledIDs.value(of: fingerprint) == number { cancelledIDs.remove(fingerprint) }
    }

    /// Releases claims of deliveries that were not sent and never will be, because their message was cancelled. The
    /// claims are in memory only.
    package func release(_ fingerprints: [UInt64]) {
        for fingerprint in fingerprints { deliveries.remove(fingerprint) }
    }
}
