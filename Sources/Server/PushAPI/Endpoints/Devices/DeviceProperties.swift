import PushModel

/// The properties of a device in a request. One that is absent keeps its value, and an empty text removes it. User, tags,
/// locale and time zone are those of the whole installation, if the device belongs to one.
struct DeviceProperties: Sendable {
    private let user: String?
    private let tags: [String]?
    private let locale: String?
    private let timeZone: String?
    private let platform: String?
    private let appVersion: String?

    init(_ read: inout InputReader) {
        user = read.optional(
            "user", as: .text(0...DeviceInput.maxUserLength),
            about: "The user of the device. An empty text removes it; without the key, the device keeps its user.")
        read.require(
            !DotSteps.occur(in: (user ?? "").utf8), at: "user", detail: "the user \(DeviceInput.dotSteps)")
        tags = read.optional(
            "tags", as: .list(of: .text(1...DeviceInput.maxTagLength), count: 0...DeviceInput.maxTags),
            about: "All tags of the device, in a form separated by commas. Without the key, it keeps its tags.")
        let word = Form.text(0...DeviceInput.maxWordLength)
        locale = read.optional("locale", as: word, about: "The locale, such as de_AT. An empty text removes it.")
        timeZone = read.optional(
            "time_zone", as: word, about: "The time zone, such as Europe/Berlin. An empty text removes it.")
        read.require(
            timeZone.map(DeviceInput.isTimeZone) ?? true, at: "time_zone",
            detail: "the name of a time zone is expected, such as Europe/Berlin")
        platform = read.optional("platform", as: word, about: "The platform, such as ios. An empty text removes it.")
        appVersion = read.optional(
            "app_version", as: word, about: "The version of the app. An empty text removes it.")
    }

    /// The names of the properties that the request has. Their values may be about a person.
    var names: [String] {
        [
            ("user", user != nil), ("tags", tags != nil), ("locale", locale != nil), ("time_zone", timeZone != nil),
            ("platform", platform != nil), ("app_version", appVersion != nil),
        ].filter(\.1).map(\.0)
    }

    /// Sets the properties of a registration.
    func set(in device: inout DeviceRegistration) {
        (device.user, device.locale, device.platform, device.appVersion) = (user, locale, platform, appVersion)
        device.timeZone = timeZone
        device.tags = tags.map { tags in Set(tags.map { ExactText($0) }).map(\.text).sorted() }
    }
}

extension AddressPlace {
    init(_ read: inout InputReader) {
        self.init(
            kind: read.optional(
                "kind", as: .choice,
                about: """
                    What the address is for. Without the key, it keeps its kind; an address whose kind was never stated \
                    counts as one for alerts.
                    """))
        let name = Form.text(1...DeviceInput.maxActivityLength)
        activity = read.optional(
            "activity", as: name, about: "The name of the Live Activity that an address of kind activity updates.")
        activityType = read.optional(
            "activity_type", as: name,
            about: "The type of the Live Activities, for addresses of the kinds activity and push_to_start.")
        installation = read.optional(
            "installation", as: .text(1...DeviceInput.maxInstallationLength),
            about: """
                The installation of the app, a name that the app chooses. User, tags, locale and time zone are those of \
                the installation: what one of its addresses states applies to all.
                """)
    }
}
