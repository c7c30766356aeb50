package import PushModel

/// What a tick of the router asks to be done, in this order.
package struct RouterActions: Sendable {
    package struct Submission: Sendable {
        /// The app's place, as `RouterMachine.gateChanged` said it.
        package let place: Int
        package let deliveries: [Delivery]
    }

    /// The next devices of an audience.
    package struct PageRequest: Sendable {
        /// The message's place: comes back with the page.
        package let message: Int
        package let audience: Audience
        package let app: AppID
        package let after: AudienceCursor?
        package let limit: Int
    }

    package struct LoadRequest: Sendable {
        /// Comes back with the messages.
        package let lane: Int
        package let seqs: [UInt64]
    }

    package struct DueRequest: Sendable, Equatable {
        /// Seconds since 1970.
        package let time: Int64
        package let limit: Int
    }

    package var records: [DeliveryRecord] = []
    package var completed: [CompletedMessage] = []
    package var candidates: [DeactivationCandidate] = []
    package var submissions: [Submission] = []
    package var pages: [PageRequest] = []
    /// Beside each its message's place: they come back with the verdicts.
    package var claims: [ClaimPage] = []
    package var claimants: [Int] = []
    package var loads: [LoadRequest] = []
    package var due: DueRequest?
    /// Acknowledged messages that the ledger cannot read: for the log.
    package var damaged: [LedgerFault] = []

    package init() {}

    package var hasRecords: Bool { !records.isEmpty || !completed.isEmpty }
}
