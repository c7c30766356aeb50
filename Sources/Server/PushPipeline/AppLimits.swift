import PushLogic
import PushModel

/// The limits of one app for resources that all apps share. An app that has reached a limit is answered `busy`; other
/// apps are not affected.
package struct AppLimits: Sendable, Equatable {
    /// The number of messages that were accepted and are not done, without those that count as `scheduled`. A reload
    /// changes it.
    package var waiting = 1_000_000
    /// The number of messages that were accepted before their `not_before` and are not done; each is a row of its own
    /// on disk. A message that has become due still counts here and not as `waiting`. A reload changes it.
    package var scheduled = 1_000_000
    /// The number of message ids that are remembered for `dedupe.window`, plus the deliveries of messages that name
    /// several devices. Each takes 8 to 24 bytes of memory and 16 to 24 bytes on disk. They are counted from the start
    /// of the process. The limit is less than `LedgerRetention.keyLimit`, so that one app cannot block all others. A
    /// reload changes it.
    package var remembered = 20_000_000
    /// The number of addresses of one installation. The registry refuses another one. A reload changes it.
    package var addressesPerInstallation = 64

    package init() {}
}

/// The messages that an app holds now.
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
    /// The Live Activities for which messages wait and of which no address is known.
    case activities
    /// The pipeline as a whole is full, and the app holds at least its share.
    case share

    /// The delay that a `busy` ack asks for. Waiting messages are done in seconds, those without an address in minutes,
    /// scheduled or remembered ones in hours.
    var retryAfter: Duration {
        switch self {
        case .waiting, .share: .seconds(1)
        case .scheduled, .remembered, .activities: .seconds(10)
        }
    }

    func detail(_ app: AppID, _ limits: AppLimits) -> String {
        switch self {
        case .waiting: "app \(app) has reached its limit of \(limits.waiting) waiting messages (limits.waiting)"
        case .scheduled:
            "app \(app) has reached its limit of \(limits.scheduled) scheduled messages (limits.scheduled)"
        case .remembered:
            "app \(app) has reached its limit of \(limits.remembered) message ids remembered for dedupe.window "
                + "(limits.remembered)"
        case .activities:
            "app \(app) has reached its limit of \(UnaddressedActivities.maxCount) Live Activities, or of "
                + "\(UnaddressedActivities.maxBytes >> 20) MiB of payloads, that wait for an address; register the "
                + "update tokens before more updates are sent"
        case .share: "too many messages of all apps wait to be sent, and app \(app) has reached its share of them"
        }
    }
}
