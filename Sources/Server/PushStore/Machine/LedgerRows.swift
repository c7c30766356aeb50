import PushLogic
import PushModel
import PushTime
import PushWire

/// What one group changes in the store. An engine stores all of it or nothing, and then commits the group in the
/// machine that decided it.
struct LedgerRows {
    /// The time of the group.
    let time: WallTime
    /// The number of the group's first event, under which its keys are stored.
    let number: UInt64

    /// The events, in ascending order of their numbers. The last segment may be empty.
    var segments: [LogSegment] = []
    /// The last numbers of the topics that have events in the group.
    var heads: [LogWriter.Head] = []

    /// The accepted messages that wait.
    var messages: [MessageRowBuilder] = []
    /// The first numbers of the rows of messages whose last message is done.
    var removedMessages: [UInt64] = []
    /// The accepted messages that have a time in the future.
    var scheduled: [ScheduledRow] = []
    /// The scheduled messages that are done.
    var removedScheduled: [UInt64] = []

    /// The keys of the accepted messages as words, in the form in which they are stored.
    var acceptedKeys: [UInt64] = []
    /// The keys of ended deliveries as words.
    var endedKeys: [UInt64] = []
    /// The numbers of the messages that are done.
    var completed: [UInt64] = []

    var addedCancels: [AddedCancel] = []
    var changedCancels: [ChangedCancel] = []
    var removedCancels: [UInt64] = []
    /// The apps that are paused since a time, or with nil continue.
    var pauses: [(app: AppID, since: WallTime?)] = []
    /// The notifications of stores whose ids are remembered from now on.
    var receipts: [(app: AppID, id: String)] = []

    init(at time: WallTime, number: UInt64) {
        self.time = time
        self.number = number
    }

    var hasEvents: Bool { segments.contains { $0.count > 0 } }
    var hasKeys: Bool { !(acceptedKeys.isEmpty && endedKeys.isEmpty && completed.isEmpty) }

    /// A message for later.
    struct ScheduledRow {
        let seq: UInt64
        let due: UnixSeconds
        let key: AcceptedKey
        let app: AppID
        let body: [UInt8]
    }

    /// A cancellation, which has no counts yet.
    struct AddedCancel {
        let number: UInt64
        let fingerprint: UInt64
        let request: CancelRequest
        /// The stored form of each of its messages (``StoredCancelPart``).
        let parts: [UInt64]
    }

    /// The counts of a cancellation whose messages are stopped.
    struct ChangedCancel {
        let number: UInt64
        let counts: CancelCounts
        let parts: [UInt64]
    }
}
