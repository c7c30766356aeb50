import PushWire

/// The visible text of a notification.
///
/// A string literal is an alert with a body only: `alert: "It is on its way"`.
public struct Alert: Sendable, Hashable, ExpressibleByStringLiteral {
    /// The first line.
    public var title: String?
    /// The second line.
    public var subtitle: String?
    /// The text.
    public var body: String?
    /// The title in a language of the device; it replaces ``title``.
    public var localizedTitle: LocalizedText?
    /// The subtitle in a language of the device; it replaces ``subtitle``.
    public var localizedSubtitle: LocalizedText?
    /// The body in a language of the device; it replaces ``body``.
    public var localizedBody: LocalizedText?
    /// The name of the launch image or storyboard.
    public var launchImage: String?

    /// Creates an alert of up to three texts.
    public init(title: String? = nil, subtitle: String? = nil, body: String? = nil) {
        self.title = title
        self.subtitle = subtitle
        self.body = body
    }

    /// Creates an alert with a body only.
    public init(stringLiteral body: String) { self.init(body: body) }

    /// A key of the app's localized texts, with the arguments for its placeholders.
    public struct LocalizedText: Sendable, Hashable {
        /// The key in the app's `Localizable.strings`.
        public var key: String
        /// The texts for the placeholders.
        public var arguments: [String]

        /// Creates a localized text.
        public init(_ key: String, arguments: [String] = []) {
            self.key = key
            self.arguments = arguments
        }
    }

    private var hasBodyOnly: Bool {
        title == nil && subtitle == nil && launchImage == nil && localizedTitle == nil && localizedSubtitle == nil
            && localizedBody == nil
    }

    func write(to json: inout JSONWriter) {
        if hasBodyOnly, let body { return json.string(body) }
        json.beginObject()
        json.member("title", value: title)
        json.member("subtitle", value: subtitle)
        json.member("body", value: body)
        localizedTitle?.write("title-loc-key", arguments: "title-loc-args", to: &json)
        localizedSubtitle?.write("subtitle-loc-key", arguments: "subtitle-loc-args", to: &json)
        localizedBody?.write("loc-key", arguments: "loc-args", to: &json)
        json.member("launch-image", value: launchImage)
        json.endObject()
    }
}

extension Alert.LocalizedText {
    fileprivate func write(_ keyName: StaticString, arguments name: StaticString, to json: inout JSONWriter) {
        json.member(keyName, value: key)
        json.member(name, value: arguments)
    }
}

/// The sound of a notification.
///
/// A string literal is the name of a sound file in the app: `sound: "bell.caf"`.
public enum Sound: Sendable, Hashable, ExpressibleByStringLiteral {
    /// The sound of the system.
    case standard
    /// A sound file in the app.
    case named(String)
    /// A sound that plays even if the device is muted, which requires an entitlement. The volume is 0 to 1.
    case critical(name: String = "default", volume: Double? = nil)

    /// Creates a sound by the name of its file.
    public init(stringLiteral name: String) { self = .named(name) }

    func write(to json: inout JSONWriter) {
        switch self {
        case .standard: json.string("default")
        case .named(let name): json.string(name)
        case .critical(let name, let volume):
            json.beginObject()
            json.member("critical", value: Int64(1))
            json.member("name", value: name)
            if let volume {
                json.key(plain: "volume")
                json.number(volume)
            }
            json.endObject()
        }
    }
}
