import PushModel

/// How much one app may hold of what all share. An app that has reached a limit is `busy`; the others go on.
package struct AppLimits: Sendable, Equatable {
    /// Messages that were accepted and are not done, without those that count as `scheduled`. Live.
    package var waiting = 1_000_000
    /// Messages that were accepted before their `not_before` and are not done, each a row of its own on disk. One that
    /// is due still counts here, and not as `waiting`. Live.
    package var scheduled = 1_000_000
    /// Message ids that are remembered for `dedupe.window`, and deliveries of messages that name several devices: 8 to
    /// 24 bytes of memory and 16 to 24 on disk each. Counted since the process began. Fewer than
    /// `LedgerRetention.keyLimit`: else one app could keep all others from being accepted. Live.
    package var remembered = 20_000_000

    package init() {}
}

/// What an app holds now.
package struct AppLoad: Sendable, Equatable {
    package var waiting: Int
    package var scheduled: Int

    package init(waiting: Int = 0, scheduled: Int = 0) {
        self.waiting = waiting
        self.scheduled = scheduled
    }
}

/// A limit that an app has reached.
package enum AppQuota: String, Sendable, CaseIterable {
    case waiting, scheduled, remembered
    /// The pipeline as a whole is full, and the app holds its share of it or more.
    case share

    /// When it is worth asking again: what waits goes in seconds, what is scheduled or remembered in hours.
    var retryAfter: Duration {
        switch self {
        case .waiting, .share: .seconds(1)
        case .scheduled, .remembered: .seconds(10)
        }
    }

    func detail(_ app: AppID, _ limits: AppLimits) -> String {
        switch self {
        case .waiting: "\(limits.waiting) messages of app \(app) wait to be sent, which is its limit (limits.waiting)"
        case .scheduled:
            "\(limits.scheduled) messages of app \(app) are scheduled, which is its limit (limits.scheduled)"
        case .remembered:
            "\(limits.remembered) message ids of app \(app) are remembered for dedupe.window, which is its limit "
                + "(limits.remembered)"
        case .share: "too many messages wait to be sent, and app \(app) has its share of them or more"
        }
    }
}
