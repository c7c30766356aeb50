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
}
