/// The log of the notifications of a store, each of which becomes one event, however often the store sends it.
package protocol ReceiptLog: AnyObject, Sendable {
    /// Stores the event of a notification. Calls `reply` when the event is on disk, or when the notification is found
    /// to be stored already, or could not be stored.
    func take(_ receipt: ReceivedReceipt, reply: @escaping @Sendable (ReceiptIntake) -> Void)
}

extension ReceiptLog {
    package func take(_ receipt: ReceivedReceipt) async -> ReceiptIntake {
        await withCheckedContinuation { continuation in
            take(receipt) { continuation.resume(returning: $0) }
        }
    }
}

/// A verified notification of a store.
package struct ReceivedReceipt: Sendable {
    package let app: AppID
    /// The store's id of the notification. It is the same when the store sends the notification again.
    package let id: String
    package let event: EventDraft

    package init(_ event: EventDraft, id: String, app: AppID) {
        self.app = app
        self.id = id
        self.event = event
    }
}

package enum ReceiptIntake: Sendable, Equatable {
    /// The event is on disk and has this number.
    case stored(UInt64)
    /// A notification with this id was stored before.
    case duplicate
    /// The notification could not be stored, for this reason.
    case failed(String)
}
