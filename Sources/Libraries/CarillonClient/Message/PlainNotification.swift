import PushWire

/// Content for any push service: Carillon builds the payload for the service of the app.
///
/// A field that the service cannot show is refused with ``PushRefusal/Reason/badPayload``, not left out. Use
/// ``Notification`` for what only Apple has.
public struct PlainNotification: Sendable, Hashable {
    /// The visible text.
    public var alert: Alert?
    /// The visible text by locale, such as `en` or `de-CH`, instead of ``alert``. A device gets that of its locale, or
    /// of ``defaultLocale``.
    public var localizedAlerts: [String: Alert] = [:]
    /// The locale of the text for devices whose locale has none. It is one of ``localizedAlerts``.
    public var defaultLocale: String?
    /// The values of each user of the audience, which names in braces in the texts stand for, as in `{name}`. `{{` is
    /// then a brace. If it is not empty, it has all users.
    public var values: [String: [String: String]] = [:]
    /// The sound.
    public var sound: Sound?
    /// The number on the app's icon; 0 removes it.
    public var badge: Int64?
    /// The address of an image. On Apple's devices, the app's service extension adds it to the notification.
    public var image: String?
    /// What the notification opens: an address, or a link into the app.
    public var link: String?
    /// The category, which decides the buttons.
    public var category: String?
    /// The group of the notification: those with the same thread are shown together.
    public var thread: String?
    /// The app's own data.
    public var custom: [String: JSONContent]

    /// Creates the content of a notification.
    public init(
        alert: Alert? = nil, sound: Sound? = nil, badge: Int64? = nil, image: String? = nil, link: String? = nil,
        category: String? = nil, thread: String? = nil, custom: [String: JSONContent] = [:]
    ) {
        self.alert = alert
        self.sound = sound
        self.badge = badge
        self.image = image
        self.link = link
        self.category = category
        self.thread = thread
        self.custom = custom
    }

    /// Writes the fields as members of an envelope.
    func write(to json: inout JSONWriter) {
        if !localizedAlerts.isEmpty {
            json.key(plain: "alert")
            json.object { json in
                json.key(plain: "locales")
                json.object { json in
                    for (locale, alert) in localizedAlerts.sorted(by: { $0.key < $1.key }) {
                        json.key(locale)
                        alert.write(to: &json)
                    }
                }
                json.member("default", value: defaultLocale)
            }
        } else if let alert {
            json.key(plain: "alert")
            alert.write(to: &json)
        }
        json.member("badge", value: badge)
        if let sound {
            json.key(plain: "sound")
            sound.write(to: &json)
        }
        if !custom.isEmpty {
            json.key(plain: "custom")
            JSONContent.object(custom).write(to: &json)
        }
        json.member("image", value: image)
        json.member("link", value: link)
        json.member("category", value: category)
        json.member("thread", value: thread)
        guard !values.isEmpty else { return }
        json.key(plain: "values")
        json.object { json in
            for (user, values) in values.sorted(by: { $0.key < $1.key }) {
                json.key(user)
                json.object { json in
                    for (name, value) in values.sorted(by: { $0.key < $1.key }) {
                        json.key(name)
                        json.string(value)
                    }
                }
            }
        }
    }
}
