import PushModel
import PushTime

/// The state of one app, and the credit of its gateway.
struct AppState {
    let id: AppID
    var hasGate = false
    /// Whether an operator has paused the app. Its messages wait as if the gateway had no credit.
    var isPaused = false
    /// The number of recalls that were requested from the current gateway, and of those that it has reported.
    var recallsAsked: UInt64 = 0
    var recalled: UInt64 = 0
    /// The operator's decision to drop the waiting messages. It ends when the app has a gateway.
    var drop: Drop?
    /// The identity of the current gateway.
    var gate: ObjectIdentifier?
    /// The windows that other gateways than the current one reported: a gateway that the router does not know yet, or
    /// one that is being replaced.
    private(set) var otherWindows: [(source: ObjectIdentifier, window: UInt64)] = []
    /// The number of deliveries that were submitted to the current gateway.
    var submitted: UInt64 = 0
    /// The total number of deliveries that may be submitted to the gateway.
    var window: UInt64 = 0
    var turns: LaneTurns
    /// The number of deliveries that are at a gateway, and of those that wait for a retry.
    var out = 0
    var retrying = 0
    /// The times at which the deliveries at a gateway were given to it.
    var unanswered = WaitTimes()
    /// The number of deliveries that are at the gateway, wait for a retry, or are about to be sent again.
    var underWay = 0
    /// Whether something has changed since the app was last dispatched.
    var isDirty = false

    init(_ id: AppID, quantum: Int) {
        self.id = id
        turns = LaneTurns(quantum: quantum)
    }

    /// An operator's decision to drop waiting messages.
    struct Drop {
        /// The number of the newest message of each part at that time.
        let upTo: PartNumbers
        /// The time of the decision, in seconds since 1970. Messages that were scheduled for a later time are kept.
        let at: UnixSeconds
    }

    private static let maxOtherWindows = 8

    /// Remembers the window of a gateway that is not the current one.
    mutating func remember(window: UInt64, of source: ObjectIdentifier) {
        if let index = otherWindows.firstIndex(where: { $0.source == source }) {
            otherWindows[index].window = window
        } else {
            if otherWindows.count == Self.maxOtherWindows { otherWindows.removeFirst() }
            otherWindows.append((source, window))
        }
    }

    /// Returns the window that a gateway reported before it became the current one, and forgets all others.
    mutating func takeWindow(of source: ObjectIdentifier?) -> UInt64 {
        defer { otherWindows = [] }
        return otherWindows.first { $0.source == source }?.window ?? 0
    }

    /// The number of deliveries that may still be submitted.
    var credit: Int { !isPaused && window > submitted ? Int(clamping: window - submitted) : 0 }
}
