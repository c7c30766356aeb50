/// A message for devices of one app, or of a family of apps.
///
/// ```swift
/// var push = Push(id: "order-4711-shipped", app: "shop", to: .user("ada"), alert: "It is on its way")
/// push.expiresAt = .now + .seconds(3600)
/// ```
///
/// The ``id`` names the cause of the message. Within the window of Carillon (7 days by default), a device receives an
/// id of an app at most once, however often and by however many producers it is pushed. So a push whose outcome is
/// unknown may be pushed again with the same id and the same content.
public struct Push: Sendable, Hashable {
    /// The name of the message in its app: 1 to 128 bytes without control characters.
    public var id: String
    /// The name of an app, or of a family of apps, in the configuration of Carillon.
    public var app: String
    /// The devices that the message is for.
    public var audience: Audience
    /// The content.
    public var content: Content
    /// The kind of the notification.
    public var type = PushType.alert
    /// The urgency. With nil, Carillon chooses it by the type.
    public var priority: Priority?
    /// The time after which no attempt begins. 0: one attempt now. With nil, the configuration of Carillon decides.
    public var expiresAt: UnixTime?
    /// The time before which nothing is sent.
    public var notBefore: UnixTime?
    /// The time on the clock of each device at which it is sent. It excludes ``notBefore``.
    public var atLocal: DeviceTime?
    /// A notification replaces an earlier one with the same id on the device: 1 to 64 bytes.
    public var collapseID: String?
    /// What happens if the push service never answers.
    public var onUnknown = OnUnknown.resend
    /// Whether a known id is sent to devices that joined its users or tags later.
    public var again = false
    /// For a family: the apps in the order in which a user is looked for. Each user gets the message only in the first app
    /// that reaches them; those that are not named come after. Empty: in all apps.
    public var prefer: [String] = []
    /// The W3C trace context. Carillon repeats it in events.
    public var traceparent: String?

    /// Creates a message with content from typed values.
    public init(id: String, app: String, to audience: Audience, content: Notification, type: PushType = .alert) {
        self.id = id
        self.app = app
        self.audience = audience
        self.content = .notification(content)
        self.type = type
    }

    /// Creates a message that shows a text.
    public init(
        id: String, app: String, to audience: Audience, alert: Alert, sound: Sound? = nil, badge: Int64? = nil,
        custom: [String: JSONContent] = [:]
    ) {
        self.init(
            id: id, app: app, to: audience,
            content: Notification(alert: alert, sound: sound, badge: badge, custom: custom))
    }

    /// Creates a message with content for any push service.
    public init(id: String, app: String, to audience: Audience, plain: PlainNotification, type: PushType = .alert) {
        self.id = id
        self.app = app
        self.audience = audience
        content = .plain(plain)
        self.type = type
    }

    /// Creates a message with a payload that is already JSON. It is forwarded byte for byte.
    public init(id: String, app: String, to audience: Audience, payload: [UInt8], type: PushType = .alert) {
        self.id = id
        self.app = app
        self.audience = audience
        content = .payload(payload)
        self.type = type
    }

    /// Creates a message for a family with payloads by push service.
    ///
    /// - Parameter others: The content for the services that `payloads` does not name.
    public init(
        id: String, app: String, to audience: Audience, payloads: [PushService: ServicePayload],
        others: PlainNotification? = nil, type: PushType = .alert
    ) {
        self.id = id
        self.app = app
        self.audience = audience
        content = .payloads(payloads, others: others)
        self.type = type
    }

    /// Creates a message about a Live Activity: a start for users, tags or devices, an update or an end for activities.
    public init(id: String, app: String, to audience: Audience, _ activity: LiveActivity) {
        self.id = id
        self.app = app
        self.audience = audience
        content = .liveActivity(activity)
    }

    /// The content of a message.
    public enum Content: Sendable, Hashable {
        /// Content for Apple from typed values.
        case notification(Notification)
        /// Content for any push service.
        case plain(PlainNotification)
        /// The start, an update or the end of a Live Activity.
        case liveActivity(LiveActivity)
        /// A payload for the push service: a JSON object that is forwarded byte for byte.
        case payload([UInt8])
        /// For a family: a payload for each push service, and content for those without one.
        case payloads([PushService: ServicePayload], others: PlainNotification? = nil)
    }

    /// The urgency of a message.
    public enum Priority: Int64, Sendable, Hashable, CaseIterable {
        /// Never wakes the device.
        case low = 1
        /// When the power of the device allows it.
        case normal = 5
        /// At once.
        case high = 10
    }

    /// What happens if the push service never answers.
    public enum OnUnknown: String, Sendable, Hashable, CaseIterable {
        /// The delivery is sent again: the device may receive it twice.
        case resend
        /// The delivery ends: the device may not receive it.
        case drop
    }
}

/// The kind of a notification.
public struct PushType: RawRepresentable, Sendable, Hashable {
    /// The word on the wire.
    public let rawValue: String

    /// Creates a type by its word on the wire, for a type that a newer Carillon has.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A notification that is shown.
    public static let alert = PushType(rawValue: "alert")
    /// A notification that wakes the app.
    public static let background = PushType(rawValue: "background")
    /// A call.
    public static let voip = PushType(rawValue: "voip")
    /// Data of a complication on a watch.
    public static let complication = PushType(rawValue: "complication")
    /// A change of files.
    public static let fileProvider = PushType(rawValue: "fileprovider")
    /// Device management.
    public static let mdm = PushType(rawValue: "mdm")
    /// A request for the location.
    public static let location = PushType(rawValue: "location")
    /// An update of a Live Activity.
    public static let liveActivity = PushType(rawValue: "liveactivity")
    /// A call of Push to Talk.
    public static let pushToTalk = PushType(rawValue: "pushtotalk")
    /// A change of widgets.
    public static let widgets = PushType(rawValue: "widgets")
    /// A change of controls.
    public static let controls = PushType(rawValue: "controls")
    /// A message for an accessory, through the app's transport extension.
    public static let accessory = PushType(rawValue: "accessory")
}
