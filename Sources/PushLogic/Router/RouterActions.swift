package import PushModel

/// The actions that a tick of the router requests, in the order in which they are executed.
package struct RouterActions: Sendable {
    package struct Submission: Sendable {
        /// The index of the app, as ``RouterMachine/gateChanged(_:isThere:source:)`` returned it.
        package let place: Int
        package let deliveries: [Delivery]
    }

    /// A request for the next devices of an audience.
    package struct PageRequest: Sendable {
        /// The slot of the message. The answer contains it.
        package let message: Int
        package let audience: Audience
        package let app: AppID
        package let after: AudienceCursor?
        package let limit: Int
    }

    package struct LoadRequest: Sendable {
        /// The lane of the messages. The answer contains it.
        package let lane: Int
        package let seqs: [UInt64]
    }

    package struct DueRequest: Sendable, Equatable {
        /// The time until which messages are due, in seconds since 1970.
        package let time: Int64
        package let limit: Int
    }

    package var records: [DeliveryRecord] = []
    package var completed: [CompletedMessage] = []
    package var candidates: [DeactivationCandidate] = []
    package var submissions: [Submission] = []
    package var pages: [PageRequest] = []
    /// The requests for claims, and for each the slot of its message. The answer contains the slots.
    package var claims: [ClaimPage] = []
    package var claimants: [Int] = []
    package var loads: [LoadRequest] = []
    package var due: DueRequest?
    /// Acknowledged messages that the ledger cannot read, for the log.
    package var damaged: [LedgerFault] = []

    package init() {}

    package var hasRecords: Bool { !records.isEmpty || !completed.isEmpty }
}
