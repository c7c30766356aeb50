/// The deliveries that the log knows, found by their ids.
package protocol SentDeliveries: AnyObject, Sendable {
    /// Returns the deliveries with these ids that were sent, as far as the log is searched. Its cost per id is bounded,
    /// and small for an id that does not exist.
    func sent(_ ids: [DeliveryID]) async throws -> [DeliveryID: SentDelivery]

    /// Stores events. Returns the number of the first one when they are on disk, or nil if they could not be stored.
    func note(_ events: [EventDraft]) async -> UInt64?
}

/// A delivery that was given to the push service.
package struct SentDelivery: Sendable, Equatable {
    package let app: AppID
    package let message: MessageID
    package let device: DeviceID
    /// What the device has reported so far.
    package var seen: Set<SeenReport.What>

    package init(app: AppID, message: MessageID, device: DeviceID, seen: Set<SeenReport.What> = []) {
        self.app = app
        self.message = message
        self.device = device
        self.seen = seen
    }
}

/// A report of an app about one delivery.
package struct SeenReport: Sendable, Equatable {
    package enum What: String, CaseIterable, Sendable {
        /// The notification appeared on the device.
        case displayed
        /// The user opened the notification.
        case opened

        package var event: EventKind {
            switch self {
            case .displayed: .deliveryDisplayed
            case .opened: .deliveryOpened
            }
        }
    }

    /// The id of the delivery; nil if the reported id cannot be one.
    package let id: DeliveryID?
    package let what: What
    /// The time on the device's clock in milliseconds since 1970; nil if it was not reported.
    package let at: Int64?

    package init(of id: DeliveryID?, what: What, at: Int64?) {
        self.id = id
        self.what = what
        self.at = at
    }
}
