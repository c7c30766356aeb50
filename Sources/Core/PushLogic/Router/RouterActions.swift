package import PushModel
package import PushTime

/// The actions that a tick of the router requests, in the order in which they are executed.
package struct RouterActions: Sendable {
    package struct Submission: Sendable {
        /// The index of the app, as ``RouterMachine/gateChanged(_:isThere:source:)`` returned it.
        package let app: AppIndex
        package let deliveries: [Delivery]
    }

    /// A request for the next devices of an audience.
    package struct PageRequest: Sendable {
        /// The message that needs the devices. The answer contains it.
        package let message: MessageHandle
        package let audience: Audience
        package let app: AppID
        package let kind: AddressKind
        /// The type of the Live Activities that the devices are to start; nil if they are to start none.
        package let activityType: String?
        package let wording: Wording?
        /// The apps in which users get the message rather than in this one.
        package let preferred: [PreferredApp]
        /// The turn of a message that goes out at a local time; nil for any other.
        package let turn: BegunTurn?
        package let after: AudienceCursor?
        package let limit: Int
    }

    package struct LoadRequest: Sendable {
        /// The lane of the messages. The answer contains it.
        package let lane: LaneID
        package let seqs: [UInt64]
    }

    package struct DueRequest: Sendable, Equatable {
        /// The time until which messages are due.
        package let time: UnixSeconds
        package let limit: Int
    }

    /// The outcomes and completions that precede the answers in ``cancelEnds``. There are some only with answers.
    package var earlierRecords: [DeliveryRecord] = []
    package var earlierCompleted: [CompletedMessage] = []
    package var records: [DeliveryRecord] = []
    package var completed: [CompletedMessage] = []
    /// The answers of push services that gateways reported, one element for each report with answers.
    package var answers: [ProviderAnswers] = []
    /// The addresses of Live Activities for which the push service has taken an update. They end later because of it.
    package var updated: [DeviceID] = []
    package var submissions: [Submission] = []
    package var pages: [PageRequest] = []
    /// The requests for claims, and the message of each. The answer contains the messages.
    package var claims: [ClaimPage] = []
    package var claimants: [MessageHandle] = []
    package var loads: [LoadRequest] = []
    package var due: DueRequest?
    /// The recalls to request from gateways, with the number of each.
    package var recalls: [(app: AppIndex, number: UInt64)] = []
    /// The orders that are carried out.
    package var cancelEnds: [CancelEnd] = []
    /// The claims of deliveries that are not sent because their message was cancelled.
    package var releases: [ClaimPage] = []
    /// The parts that were closed and of which nothing is left. They are reported after the records.
    package var closed: [PartitionID] = []
    /// Acknowledged messages that the ledger cannot read, for the log.
    package var damaged: [LedgerFault] = []

    package init() {}

    mutating func release(_ device: DeviceID, of message: AcceptedMessage) {
        guard message.needsClaim else { return }
        if let last = releases.indices.last, releases[last].seq == message.seq {
            releases[last].devices.append(device)
        } else {
            releases.append(ClaimPage(seq: message.seq, fingerprint: message.fingerprint, devices: [device]))
        }
    }

    /// Adds the answers to orders that are carried out. What was recorded until now precedes them.
    mutating func add(_ ends: [CancelEnd]) {
        earlierRecords += exchange(&records, with: [])
        earlierCompleted += exchange(&completed, with: [])
        cancelEnds += ends
    }

    /// Hands outcomes and the ends of cancellations to the ledger in the order in which they came about.
    ///
    /// The ledger completes a message that is absent here, as one that was never sent. It must therefore know of the
    /// completion of a message before it gets this answer about it. A message that is stopped is completed after the
    /// answer, so that the event of its cancellation comes first.
    package func record(in ledger: some Ledger) {
        if !earlierRecords.isEmpty || !earlierCompleted.isEmpty {
            ledger.record(earlierRecords, completed: earlierCompleted)
        }
        if !cancelEnds.isEmpty || !releases.isEmpty { ledger.ended(cancelEnds, releasing: releases) }
        if !records.isEmpty || !completed.isEmpty { ledger.record(records, completed: completed) }
    }
}
