/// The Live Activities for which messages wait and of which no address is known. The number and size of those of which
/// the registry has none are bounded for each app: the ledger accepts no message for another one. Any thread may call
/// it.
package protocol ActivityWaits: AnyObject, Sendable {
    /// Counts an accepted message, also if there is no room for it.
    func waits(_ wait: ActivityWait, newest seq: UInt64)
    /// Records that the activity has an address.
    func found(_ activity: UInt64)
    /// Records that the registry has no active address of the activity for which an accepted message waits.
    func lost(_ wait: ActivityWait, newest seq: UInt64)
    /// Records that all messages to the activity have ended, up to this number.
    func ended(_ activity: UInt64, upTo seq: UInt64)

    /// Calls the observer when there are activities to take with ``takeRefused()``, and again only after that has
    /// returned none. Set before the first message is accepted.
    func observeRefusals(_ observer: @escaping @Sendable () -> Void)
    /// Takes the activities that were refused although it was not known whether they have an address.
    func takeRefused() -> [RefusedActivity]
    /// Records that a refused activity has an address, so that its next message is accepted.
    func foundRefused(_ activity: RefusedActivity)
}

/// A Live Activity to which a message was refused before the registry was asked about it.
package struct RefusedActivity: Sendable, Hashable {
    package let activity: UInt64
    package let app: AppID
    package let name: String

    package init(_ activity: UInt64, of app: AppID, name: String) {
        (self.activity, self.app, self.name) = (activity, app, name)
    }
}

/// The newest message to a Live Activity.
package struct ActivityWait: Sendable {
    /// The identity of the activity (``Identities/activity(of:name:)``).
    package let activity: UInt64
    package let app: AppID
    /// The size of the payload.
    package let bytes: Int
    package let isEnd: Bool

    package init(_ message: Message, to activity: UInt64) {
        self.activity = activity
        app = message.app
        bytes = message.payload.count
        isEnd = message.activity?.event == .end
    }
}

/// Counts nothing.
package final class NoActivityWaits: ActivityWaits {
    package init() {}

    package func waits(_ wait: ActivityWait, newest seq: UInt64) {}
    package func found(_ activity: UInt64) {}
    package func lost(_ wait: ActivityWait, newest seq: UInt64) {}
    package func ended(_ activity: UInt64, upTo seq: UInt64) {}
    package func observeRefusals(_ observer: @escaping @Sendable () -> Void) {}
    package func takeRefused() -> [RefusedActivity] { [] }
    package func foundRefused(_ activity: RefusedActivity) {}
}
