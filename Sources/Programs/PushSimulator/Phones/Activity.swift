import PushLoop

/// A Live Activity on a simulated phone.
struct Activity {
    enum State: String, CaseIterable {
        case active
        /// The stale date of what is shown has passed.
        case stale
        /// It has ended, and the lock screen still shows it.
        case ended
        /// The lock screen shows it no more.
        case dismissed
    }

    /// What ended it.
    enum Ending: String {
        case push, person
        /// Eight hours have passed, or the app was deleted.
        case system
    }

    /// What the phone does with a notification.
    enum Display {
        case shown
        /// Something newer is shown.
        case stale
        case overBudget
        /// Something is missing in it, or it is not for this token.
        case notShown
    }

    /// The time after which the system ends an activity, in milliseconds.
    static let lifetime: Int64 = 8 * 3_600_000
    /// The time for which the lock screen shows an activity that has ended, in seconds.
    static let afterglow: Int64 = 4 * 3600

    let number: UInt64
    /// The number of the phone; 0 if only a token is known.
    let phone: UInt64
    let app: String
    let type: [UInt8]
    /// JSON, like `state`.
    let attributes: [UInt8]
    let startedAt: WallTime
    let channel: [UInt8]?
    /// The token for updates; nil if a channel updates the activity.
    var token: [UInt8]?
    /// The former tokens.
    var oldTokens: [[UInt8]] = []
    var content: [UInt8]
    /// The timestamp of what is shown, in seconds.
    var timestamp: Int64
    var staleDate: Int64?
    var dismissalDate: Int64?
    /// A JSON number.
    var relevance: [UInt8]?
    var budget = ActivityBudget()
    var shown: UInt64 = 0
    var stale: UInt64 = 0
    var overBudget: UInt64 = 0
    var notShown: UInt64 = 0
    var endedAt: WallTime?
    var ending: Ending?

    /// All tokens that it has had.
    var tokens: [[UInt8]] { oldTokens + [token].compactMap { $0 } }

    func state(at now: WallTime) -> State {
        guard let endedAt else {
            return staleDate.map { $0 <= now.seconds } == true ? .stale : .active
        }
        if ending != .push { return .dismissed }
        let latest = endedAt.seconds + Self.afterglow
        return min(dismissalDate ?? latest, latest) <= now.seconds ? .dismissed : .ended
    }

    /// Shows an update, or the last state of an activity that ends. Counts what is not shown.
    ///
    /// - Parameter updates: The number of updates with priority 10 in an hour. Nil: any number.
    mutating func take(_ push: ActivityPush, isUrgent: Bool, budget updates: Int?, at now: WallTime) -> Display {
        guard let event = push.event, event != .start, push.isComplete, let timestamp = push.timestamp else {
            notShown &+= 1
            return .notShown
        }
        guard timestamp >= self.timestamp else {
            stale &+= 1
            return .stale
        }
        // An end is shown in any case, so that no activity stays for want of a budget.
        if event == .update, isUrgent, let updates, !budget.spend(of: updates, at: now.milliseconds) {
            overBudget &+= 1
            return .overBudget
        }
        shown &+= 1
        self.timestamp = timestamp
        if let state = push.contentState { content = state.copied() }
        staleDate = push.staleDate
        if let relevance = push.relevance { self.relevance = relevance.copied() }
        if event == .end { dismissalDate = push.dismissalDate }
        return .shown
    }
}
