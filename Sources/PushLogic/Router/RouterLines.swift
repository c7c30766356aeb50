import PushModel
import PushTime

/// What waits in one lane of one app.
struct LaneLine {
    /// On disk: only their numbers are here. They come after what is held.
    var spilled = SpilledQueue()
    /// Held whole, and not begun.
    var loaded = PlaceRing()
    /// With devices to send to, in turn.
    var ready = PlaceRing()
    /// Deliveries that go out again.
    var again = DeliveryQueue()

    /// Begun, and not through.
    var begun = 0
    /// Devices that wait in `ready` messages, or are awaited for them.
    var prepared = 0
    var held = 0
    var heldBytes = 0
    /// Messages that are being read back.
    var loading = 0
    /// What was read back had no room; how often room had been made by then.
    var fullAt: UInt64?
    /// When it last sent something, had a message end, or began to hold one.
    var movedAt = MonotonicTime(nanoseconds: 0)
    /// What one of them takes up at most, as the latest tell.
    var typicalCost = 4096

    var waiting: Int { spilled.count + loading + loaded.count }

    mutating func saw(cost: Int) { typicalCost = max(cost, typicalCost - typicalCost / 8) }
}

/// One app, and what its gateway may still be given.
struct AppLine {
    let app: AppID
    var hasGate = false
    /// What waits of it is to be dropped while it has no gateway.
    var drop: Drop?
    var gate: ObjectIdentifier?
    /// What gateways said that are not the one in force: one that the router has not been told of yet, or that is leaving.
    private(set) var early: [(source: ObjectIdentifier, window: UInt64)] = []
    var submitted: UInt64 = 0
    /// How many may be submitted in all.
    var window: UInt64 = 0
    var turns: LaneTurns
    var out = 0
    var retrying = 0
    /// Out, retrying, or about to go out again.
    var underWay = 0
    /// Something has changed since it was last looked at.
    var isDirty = false

    init(_ app: AppID, quantum: Int) {
        self.app = app
        turns = LaneTurns(quantum: quantum)
    }

    /// What an operator has given up.
    struct Drop {
        /// The newest message by then.
        let upTo: UInt64
        /// Seconds since 1970: older messages that are scheduled for later wait on.
        let at: Int64
    }

    private static let earlyLimit = 8

    mutating func heardEarly(_ source: ObjectIdentifier, window: UInt64) {
        if let index = early.firstIndex(where: { $0.source == source }) {
            early[index].window = window
        } else {
            if early.count == Self.earlyLimit { early.removeFirst() }
            early.append((source, window))
        }
    }

    /// What that one said before it was there. The others are forgotten.
    mutating func takeEarly(_ source: ObjectIdentifier?) -> UInt64 {
        defer { early = [] }
        return early.first { $0.source == source }?.window ?? 0
    }

    var credit: Int { window > submitted ? Int(clamping: window - submitted) : 0 }
}
