package import PushModel

/// The counters of intake since it was created, and its current load.
package struct IntakeCounts: Sendable, Equatable {
    // Requests by result. Each line of a batch is one request.
    package var accepted: UInt64 = 0
    package var duplicate: UInt64 = 0
    package var busy: UInt64 = 0
    /// Requests to cancel that were carried out, and those that came too late.
    package var cancelled: UInt64 = 0
    package var tooLate: UInt64 = 0
    /// The busy requests that the ledger could not write.
    package var failed: UInt64 = 0
    package var rejected: [RejectionReason: UInt64] = [:]
    /// Requests that were not accepted because their app had reached a limit. They are also counted as `busy` (ROUTER)
    /// or `rejected` (PULL).
    package var overQuota: [AppQuota: UInt64] = [:]

    /// ZeroMQ messages.
    package var messages: UInt64 = 0
    /// Bytes of envelopes, payloads and batch lines.
    package var bytes: UInt64 = 0
    /// Groups that were handed to the ledger.
    package var groups: UInt64 = 0

    /// Requests that are with the ledger or in the next group.
    package var unanswered = 0
    package var unansweredBytes = 0
    /// Acks that wait because their producers do not read.
    package var waitingAcks = 0
    /// Acks that were dropped because the producer disconnected or did not read. The producer sends its request again.
    package var droppedAcks: UInt64 = 0
    /// Rejected requests without an event, because the rate limit was reached.
    package var skippedEvents: UInt64 = 0
    /// Requests from PULL that were read and could not be written to the ledger before the stop.
    package var abandoned: UInt64 = 0
    package var isPullPaused = false
    /// Open connections, including those in a handshake.
    package var connections = 0

    /// The requests of each authenticated client by result. The key is the client's configured name.
    package private(set) var clients: [String: Totals] = [:]

    package init() {}

    package var rejections: UInt64 { rejected.values.reduce(0, +) }

    /// The number of requests by result.
    package struct Totals: Sendable, Equatable {
        package var accepted: UInt64 = 0
        package var duplicate: UInt64 = 0
        package var busy: UInt64 = 0
        package var rejected: UInt64 = 0

        package init() {}

        fileprivate mutating func add(_ now: Totals, since before: Totals) {
            accepted += now.accepted - before.accepted
            duplicate += now.duplicate - before.duplicate
            busy += now.busy - before.busy
            rejected += now.rejected - before.rejected
        }
    }

    /// The sum of `rejected`. It is stored because it is compared for each message.
    private var rejectedTotal: UInt64 = 0

    mutating func count(_ reason: RejectionReason) {
        rejected[reason, default: 0] += 1
        rejectedTotal += 1
    }

    mutating func count(_ cancellation: Cancellation) {
        switch cancellation {
        case .cancelled: cancelled += 1
        case .tooLate: tooLate += 1
        case .unknown: count(.unknownMessage)
        case .failed:
            busy += 1
            failed += 1
        }
    }

    var totals: Totals {
        var totals = Totals()
        (totals.accepted, totals.duplicate, totals.busy, totals.rejected) = (accepted, duplicate, busy, rejectedTotal)
        return totals
    }

    /// Adds the requests counted since `before` to the totals of this client. Does nothing if there are none.
    mutating func attribute(since before: Totals, to client: String?) {
        guard let client, totals != before else { return }
        clients[client, default: Totals()].add(totals, since: before)
    }
}
