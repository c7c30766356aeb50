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

    package init() {}

    package var rejections: UInt64 { rejected.values.reduce(0, +) }
}
