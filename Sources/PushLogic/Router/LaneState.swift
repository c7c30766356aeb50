import PushModel
import PushTime

/// The queues of one lane of one app.
struct LaneState {
    /// Messages on disk, of which only the numbers are in memory. They come after the messages in memory.
    var spilled = SpilledQueue()
    /// Messages in memory that are not begun.
    var loaded = MessageRing()
    /// Messages with devices to send to, in the order of their turns.
    var ready = MessageRing()
    /// Deliveries that are to be sent again.
    var retryQueue = DeliveryQueue()

    /// The number of messages that are begun and not completely dispatched.
    var begun = 0
    /// The number of devices in `ready` messages, including those that are still requested for them.
    var prepared = 0
    /// The number of messages in memory, and their size in bytes.
    var held = 0
    var heldBytes = 0
    /// The number of messages that are being read back.
    var loading = 0
    /// The value of ``RouterMachine/releases`` when messages that were read back found no room. The lane reads nothing
    /// back until that value changes.
    var fullAt: UInt64?
    /// The time at which the lane last sent something, completed a message, or began to hold messages.
    var movedAt = MonotonicTime(nanoseconds: 0)
    /// An estimate of the size of a large message of the lane, from the latest messages.
    var typicalCost = 4096

    var waiting: Int { spilled.count + loading + loaded.count }

    mutating func noteCost(_ cost: Int) { typicalCost = max(cost, typicalCost - typicalCost / 8) }
}
