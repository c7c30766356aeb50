import PushModel
import PushTime

/// The queues of one lane of one app.
struct LaneState {
    /// Messages on disk, of which only the numbers are in memory. They come after the messages in memory.
    var spilled = SpilledQueue()
    /// The messages on disk that were cancelled, whose numbers may still be in `spilled`.
    var stale: Set<UInt64> = []
    /// Messages in memory that are not begun.
    var loaded = MessageRing()
    /// Messages with devices to send to, in the order of their turns.
    var ready = MessageRing()
    /// Deliveries that are to be sent again.
    var retryQueue = DeliveryQueue()

    /// The times since which the messages of the lane wait, until they are done.
    var waits = PartWaits()
    /// The numbers that were requested from disk, and those of them whose part was closed meanwhile.
    var loading: [UInt64] = []
    var overtaken: Set<UInt64> = []
    /// Whether messages to Live Activities that waited when the ledger was opened are still to be looked at: until then it
    /// is not known which of them are the newest, and none is sent.
    var isIndexing = false
    /// Of the lane of Live Activities: the newest messages when the current round of looks at the disk began. Zeros if
    /// messages have returned to the disk since, which that round may pass over.
    var lookedUpTo = PartNumbers()
    /// The number of messages that are begun and not completely dispatched.
    var begun = 0
    /// The number of devices in `ready` messages, including those that are still requested for them.
    var prepared = 0
    /// The messages in memory, and those that are being read back.
    var memory = MemoryBudget.Use()
    /// The time at which the lane last sent something, completed a message, or began to hold messages.
    var movedAt = MonotonicTime(nanoseconds: 0)

    /// Whether messages of the lane are on disk only, or are being read back.
    var isOnDisk: Bool { !spilled.isEmpty || memory.loading > 0 }
    /// The number of messages that are not begun.
    var waiting: Int { max(0, spilled.count + memory.loading - overtaken.count - stale.count) + loaded.count }
    /// The number of messages in memory that wait to be sent, begun or not.
    var unsent: Int { loaded.count + ready.count }

    /// Returns messages to the front of those on disk.
    mutating func putBack(_ seqs: some BidirectionalCollection<UInt64>) {
        if seqs.isEmpty { return }
        spilled.putBack(seqs)
        lookedUpTo = PartNumbers()
    }
}
