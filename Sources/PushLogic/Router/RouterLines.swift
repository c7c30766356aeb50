import PushModel
import PushTime

/// The queues of one lane of one app.
struct LaneLine {
    /// Messages on disk, of which only the numbers are in memory. They come after the messages in memory.
    var spilled = SpilledQueue()
    /// Messages in memory that are not begun.
    var loaded = PlaceRing()
    /// Messages with devices to send to, in the order of their turns.
    var ready = PlaceRing()
    /// Deliveries that are to be sent again.
    var again = DeliveryQueue()

    /// The number of messages that are begun and not through.
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

    mutating func saw(cost: Int) { typicalCost = max(cost, typicalCost - typicalCost / 8) }
}

/// The state of one app, and the credit of its gateway.
struct AppLine {
    let app: AppID
    var hasGate = false
    /// The operator's decision to drop the waiting messages. It ends when the app has a gateway.
    var drop: Drop?
    /// The identity of the current gateway.
    var gate: ObjectIdentifier?
    /// The windows that other gateways than the current one reported: a gateway that the router does not know yet, or
    /// one that is being replaced.
    private(set) var early: [(source: ObjectIdentifier, window: UInt64)] = []
    /// The number of deliveries that were submitted to the current gateway.
    var submitted: UInt64 = 0
    /// The total number of deliveries that may be submitted to the gateway.
    var window: UInt64 = 0
    var turns: LaneTurns
    /// The number of deliveries that are at a gateway, and of those that wait for a retry.
    var out = 0
    var retrying = 0
    /// The number of deliveries that are at the gateway, wait for a retry, or are about to be sent again.
    var underWay = 0
    /// Whether something has changed since the app was last dispatched.
    var isDirty = false

    init(_ app: AppID, quantum: Int) {
        self.app = app
        turns = LaneTurns(quantum: quantum)
    }

    /// An operator's decision to drop waiting messages.
    struct Drop {
        /// The number of the newest message at that time.
        let upTo: UInt64
        /// The time of the decision, in seconds since 1970. Messages that were scheduled for a later time are kept.
        let at: Int64
    }

    private static let earlyLimit = 8

    /// Remembers the window of a gateway that is not the current one.
    mutating func heardEarly(_ source: ObjectIdentifier, window: UInt64) {
        if let index = early.firstIndex(where: { $0.source == source }) {
            early[index].window = window
        } else {
            if early.count == Self.earlyLimit { early.removeFirst() }
            early.append((source, window))
        }
    }

    /// Returns the window that a gateway reported before it became the current one, and forgets all others.
    mutating func takeEarly(_ source: ObjectIdentifier?) -> UInt64 {
        defer { early = [] }
        return early.first { $0.source == source }?.window ?? 0
    }

    /// The number of deliveries that may still be submitted.
    var credit: Int { window > submitted ? Int(clamping: window - submitted) : 0 }
}
