package import PushModel

/// What intake has done since it was made, and what it holds now.
package struct IntakeCounts: Sendable, Equatable {
    // Requests by what became of them; a line of a batch is one.
    package var accepted: UInt64 = 0
    package var duplicate: UInt64 = 0
    package var busy: UInt64 = 0
    /// Of those, what the ledger could not write.
    package var failed: UInt64 = 0
    package var rejected: [RejectionReason: UInt64] = [:]
    /// Requests that were not taken because their app had reached a limit: on ROUTER they are `busy` as well, on PULL
    /// rejected.
    package var overQuota: [AppQuota: UInt64] = [:]

    /// Messages of ZeroMQ.
    package var messages: UInt64 = 0
    /// Bytes of envelopes, payloads and lines.
    package var bytes: UInt64 = 0
    /// Groups handed to the ledger.
    package var groups: UInt64 = 0

    /// With the ledger, or about to be.
    package var unanswered = 0
    package var unansweredBytes = 0
    /// Answers that wait for their producers to read.
    package var waitingAcks = 0
    /// Answers that were given up: their producer went, or did not read. It asks again.
    package var droppedAcks: UInt64 = 0
    /// Refused requests without an answer that no event told of, since there were too many.
    package var skippedEvents: UInt64 = 0
    /// Requests without an answer that were read and could not be kept before the end.
    package var abandoned: UInt64 = 0
    package var isPullPaused = false
    /// That are open, whether or not their handshakes are done.
    package var connections = 0

    /// The same counts for each authenticated client, by its configured name.
    package private(set) var clients: [String: Totals] = [:]

    package init() {}

    package var rejections: UInt64 { rejected.values.reduce(0, +) }

    /// Requests by what became of them.
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

    /// The sum of `rejected`, kept beside it: it is compared for each message.
    private var rejectedTotal: UInt64 = 0

    mutating func count(_ rejection: Rejection) {
        rejected[rejection.reason, default: 0] += 1
        rejectedTotal += 1
    }

    var totals: Totals {
        var totals = Totals()
        (totals.accepted, totals.duplicate, totals.busy, totals.rejected) = (accepted, duplicate, busy, rejectedTotal)
        return totals
    }

    /// Attributes the requests counted since `before` to this client. Looks nothing up if there are none.
    mutating func attribute(since before: Totals, to client: String?) {
        guard let client, totals != before else { return }
        clients[client, default: Totals()].add(totals, since: before)
    }
}
