import PushWire

/// The content of a push: what a device shows, plays, or hands to the app.
public struct Notification: Sendable, Hashable {
    /// The visible text.
    public var alert: Alert?
    /// The sound.
    public var sound: Sound?
    /// The number on the app's icon; 0 removes it.
    public var badge: Int64?
    /// The importance of the notification.
    public var interruptionLevel: InterruptionLevel?
    /// The group of the notification: those with the same thread are shown together.
    public var thread: String?
    /// The category, which decides the buttons.
    public var category: String?
    /// Whether the app's service extension may change the notification before it is shown.
    public var isMutable = false
    /// Whether the system wakes the app in the background.
    public var isContentAvailable = false
    /// The window that is brought forward when the notification is opened.
    public var targetContent: String?
    /// The order of the notification in a summary, from 0 to 1.
    public var relevance: Double?
    /// The criterion by which a Focus filters the notification.
    public var filterCriteria: String?
    /// The app's own data beside `aps`.
    public var custom: [String: JSONContent]

    /// Creates the content of a notification.
    public init(
        alert: Alert? = nil, sound: Sound? = nil, badge: Int64? = nil, interruptionLevel: InterruptionLevel? = nil,
        thread: String? = nil, category: String? = nil, custom: [String: JSONContent] = [:]
    ) {
        self.alert = alert
        self.sound = sound
        self.badge = badge
        self.interruptionLevel = interruptionLevel
        self.thread = thread
        self.category = category
        self.custom = custom
    }

    /// Returns the content of a push that only wakes the app. Use it with ``PushType/background``.
    public static func background(custom: [String: JSONContent] = [:]) -> Notification {
        var content = Notification(custom: custom)
        content.isContentAvailable = true
        return content
    }

    /// How strongly a notification asks for attention.
    public enum InterruptionLevel: String, Sendable, Hashable, CaseIterable {
        /// In the list only, without light or sound.
        case passive
        /// Shown at once.
        case active
        /// Shown at once, also in a Focus.
        case timeSensitive = "time-sensitive"
        /// Shown at once, also on a muted device, which requires an entitlement.
        case critical
    }

    func write(to json: inout JSONWriter) {
        json.beginObject()
        json.key(plain: "aps")
        json.beginObject()
        if let alert {
            json.key(plain: "alert")
            alert.write(to: &json)
        }
        json.member("badge", value: badge)
        if let sound {
            json.key(plain: "sound")
            sound.write(to: &json)
        }
        json.member("interruption-level", value: interruptionLevel?.rawValue)
        json.member("thread-id", value: thread)
        json.member("category", value: category)
        if isContentAvailable { json.member("content-available", value: Int64(1)) }
        if isMutable { json.member("mutable-content", value: Int64(1)) }
        json.member("target-content-id", value: targetContent)
        if let relevance {
            json.key(plain: "relevance-score")
            json.number(relevance)
        }
        json.member("filter-criteria", value: filterCriteria)
        json.endObject()
        JSONContent.write(custom, to: &json)
        json.endObject()
    }
}
