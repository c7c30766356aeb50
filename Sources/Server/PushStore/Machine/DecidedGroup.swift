import PushLogic
import PushModel
import PushTime
import PushWire

/// The decisions of ``LedgerMachine`` upon one group: what is to be stored, and what is announced after the commit.
struct DecidedGroup: ~Copyable {
    var rows: LedgerRows
    var dedupe: DedupeGroup
    /// The accepted messages, with ascending numbers. While a group is decided, those of other parts may precede them.
    var accepted: [AcceptedMessage] = []
    /// Where its own begin in `accepted`.
    let firstAccepted: Int
    /// The number that `accepted` has if all requests are accepted.
    let expected: Int
    /// The answers to the requests, in their order.
    var replies: [Acceptance] = []
    /// The number of the first event of each note.
    var notes: [UInt64] = []
    /// The answers to the notifications of stores.
    var receipts: [ReceiptIntake] = []
    var cancels = CancelGroup()
    /// How the group changes the backlogs of the apps.
    var backlog = BacklogChanges()
    /// The messages to Live Activities without a known address; nil for nearly all groups.
    var activities: AdmittedActivities?
    /// The requests that are duplicates, with the numbers of the messages that they repeat.
    var duplicates: [(message: Message, seq: UInt64)] = []
    /// The turns of messages at a local time that are done, by the ids of the messages: what was sent, or nil if no other
    /// turn is left.
    var endedTurns: [(fingerprint: UInt64, sent: UInt64?)] = []
    /// The scheduled messages that are done with this group.
    var unscheduled: Set<UInt64> = []

    init(at time: WallTime, first: UInt64, reserving count: Int, firstAccepted: Int) {
        self.firstAccepted = firstAccepted
        expected = firstAccepted + count
        rows = LedgerRows(at: time, number: first)
        rows.acceptedKeys.reserveCapacity(3 * count)
        dedupe = DedupeGroup(first: first, reserving: count)
        replies.reserveCapacity(count)
    }

    var time: WallTime { rows.time }
}

/// How a group changes the numbers of unfinished messages. Successive changes mostly concern one app.
struct BacklogChanges {
    private(set) var changes: [(app: AppID, waiting: Int, scheduled: Int)] = []

    mutating func add(_ app: AppID, waiting: Int = 0, scheduled: Int = 0) {
        let last = changes.count - 1
        guard last >= 0, changes[last].app == app else { return changes.append((app, waiting, scheduled)) }
        changes[last].waiting += waiting
        changes[last].scheduled += scheduled
    }
}
