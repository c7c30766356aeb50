/// The properties of a device. A property that is nil stays as it is on the server; an empty text removes it.
public struct DeviceProfile: Sendable, Equatable, Codable {
    /// The user who is signed in.
    public var user: String?
    /// All tags of the device; an empty list removes them.
    public var tags: [String]?
    /// The language and region, such as `de_AT`.
    public var locale: String?
    /// The platform, such as `ios`.
    public var platform: String?
    /// The version of the app.
    public var appVersion: String?
    /// `production`, or `sandbox` for a development build.
    public var environment: String?
    /// The time zone, such as `Europe/Berlin`.
    public var timeZone: String?

    /// Creates a profile.
    public init(
        user: String? = nil, tags: [String]? = nil, locale: String? = nil, platform: String? = nil,
        appVersion: String? = nil, environment: String? = nil, timeZone: String? = nil
    ) {
        self.user = user
        self.tags = tags
        self.locale = locale
        self.platform = platform
        self.appVersion = appVersion
        self.environment = environment
        self.timeZone = timeZone
    }

    /// The profile with its tags in order, so that an order that changes is not a change.
    var normalized: DeviceProfile {
        var profile = self
        profile.tags = tags.map { Array(Set($0)).sorted() }
        return profile
    }
}
