/// The report that a notification was displayed or opened.
public struct SeenReport: Sendable, Hashable, Codable {
    /// What happened to a notification.
    public enum Kind: String, Sendable, Hashable, Codable {
        case displayed
        case opened
    }

    /// The id of the notification: `apns-id`, or that of another push service.
    public var notification: String
    /// What happened.
    public var kind: Kind
    /// The time on the device's clock, in milliseconds since 1970.
    public var at: Int64
}
