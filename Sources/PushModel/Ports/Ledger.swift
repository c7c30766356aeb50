/// The durable, numbered log, as the pipeline sees it. Batches in, batches out; what is behind it is not said here.
///
/// Nothing here blocks: what is handed in is taken at once and answered later, on a thread of the ledger's own.
package protocol Ledger: AnyObject, Sendable {
    /// Takes a group of requests. `reply`, in their order, when the disk has them.
    func accept(_ group: [PushRequest], reply: @escaping @Sendable ([Acceptance]) -> Void)

    /// What happened to deliveries, and the messages that are done. Written in the order of the calls; kept in memory and
    /// tried again for as long as the disk refuses.
    func record(_ deliveries: [DeliveryRecord], completed: [CompletedMessage])

    /// Events that are not of deliveries. `done`, with the number of the first, when the disk has them; with nil if it
    /// could not take them.
    func note(_ events: [EventDraft], done: (@Sendable (UInt64?) -> Void)?)

    /// Marks devices as theirs who ask, unless they were marked before. `reply`: a verdict for each device, page by page.
    func claim(_ pages: [ClaimPage], reply: @escaping @Sendable ([[ClaimVerdict]]) -> Void)

    /// Messages that wait, read back in their order; those that are done by now are left out. Where they are large the
    /// answer may end early: those after the last message in it are to be asked for again.
    func load(_ seqs: [UInt64], reply: @escaping @Sendable (Result<[AcceptedMessage], LedgerFault>) -> Void)

    /// Which scheduled messages are due at `time` (seconds since 1970), after what was released before, at most `limit` and
    /// fewer where they are large; and when the next one will be.
    func due(at time: Int64, limit: Int, reply: @escaping @Sendable (Result<DueMessages, LedgerFault>) -> Void)
}

/// Who is told of what the ledger has written. Called on the ledger's thread, in the order of the numbers.
package protocol LedgerWitness: Sendable {
    /// Messages to be carried out, those whose time has not come included.
    func accepted(_ messages: [AcceptedMessage])
    /// Synced, and fit to be published.
    func committed(_ segment: LogSegment)
    /// Whether the disk takes what is written: false from the first failure on, true again when it has passed.
    func healthChanged(_ fault: LedgerFault?)
}

package struct LedgerFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// What happened, where, what to do.
    package let description: String
    /// The one message that it is about: the others can be had.
    package let damaged: DamagedMessage?

    package init(_ description: String, damaged: DamagedMessage? = nil) {
        self.description = description
        self.damaged = damaged
    }
}

/// A message that was accepted and cannot be read any more.
package struct DamagedMessage: Sendable, Equatable {
    package let seq: UInt64
    /// What is known of it from elsewhere, if anything is.
    package let app: AppID?
    package let id: MessageID?

    package init(seq: UInt64, app: AppID?, id: MessageID?) {
        self.seq = seq
        self.app = app
        self.id = id
    }
}

/// Devices that one message is about to be sent to.
package struct ClaimPage: Sendable {
    package let seq: UInt64
    package let fingerprint: MessageFingerprint
    package let devices: [DeviceID]

    package init(seq: UInt64, fingerprint: MessageFingerprint, devices: [DeviceID]) {
        self.seq = seq
        self.fingerprint = fingerprint
        self.devices = devices
    }
}

package enum ClaimVerdict: UInt8, Sendable {
    /// Nobody has sent it there.
    case new
    /// It had this message id: suppressed.
    case had
    /// This very message ended there before a restart, and is counted.
    case done
}

package struct DueMessages: Sendable {
    /// In the order of their times.
    package let messages: [AcceptedMessage]
    /// Seconds since 1970: when the next one is due; nil if none is scheduled.
    package let next: Int64?

    package init(messages: [AcceptedMessage], next: Int64?) {
        self.messages = messages
        self.next = next
    }
}

/// What waited when the ledger was opened: for the router, which loads it as there is room.
package struct LedgerBacklog: Sendable {
    /// Ascending numbers, lane by lane.
    package var lanes: [(lane: Lane, seqs: [UInt64])]
    /// Seconds since 1970.
    package var nextDue: Int64?

    package init(lanes: [(lane: Lane, seqs: [UInt64])] = [], nextDue: Int64? = nil) {
        self.lanes = lanes
        self.nextDue = nextDue
    }
}
