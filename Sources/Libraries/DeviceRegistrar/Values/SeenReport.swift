/// The report that a notification was displayed or opened.
struct SeenReport: Sendable, Hashable, Codable {
    /// What happened to a notification.
    enum Kind: String, Sendable, Hashable, Codable {
        /// The system showed it.
        case displayed
        /// The user opened it.
        case opened
    }

    /// The id of the notification: `apns-id`, or that of another push service.
    var notification: String
    /// What happened.
    var kind: Kind
    /// The time on the device's clock, in milliseconds since 1970.
    var at: Int64
}
