import PushModel

extension ConfigurationDraft {
    /// `doors.gorush`, which is complete only with an app.
    struct Gorush: Sendable {
        var ios: String?
        var android: String?
        var path: String?
        var isSync: Bool?
        var wait: Duration?
        var dedupe: Duration?

        init() {}

        init(_ door: Configuration.Doors.Gorush?) {
            guard let door else { return }
            (ios, android, path) = (door.ios?.name, door.android?.name, door.path)
            (isSync, wait, dedupe) = (door.isSync, door.wait, door.dedupe)
        }

        /// Returns the door; nil without an app.
        var door: Configuration.Doors.Gorush? {
            guard ios != nil || android != nil else { return nil }
            var door = Configuration.Doors.Gorush(
                ios: ios.flatMap { AppID($0) }, android: android.flatMap { AppID($0) })
            if let path { door.path = path }
            if let isSync { door.isSync = isSync }
            if let wait { door.wait = wait }
            if let dedupe { door.dedupe = dedupe }
            return door
        }
    }

    static let doors: [Setting<ConfigurationDraft>] = [
        Setting(
            "doors.gorush.apps.ios", atOptional: \.gorush.ios, as: .text, applies: .restart,
            documentation: "The app at Apple's service for platform 1. Default: platform 1 is refused."),
        Setting(
            "doors.gorush.apps.android", atOptional: \.gorush.android, as: .text, applies: .restart,
            documentation: "The app at FCM for platform 2. Default: platform 2 is refused."),
        Setting(
            "doors.gorush.path", atOptional: \.gorush.path, as: .text, applies: .restart,
            documentation: "The path of the endpoint."),
        Setting(
            "doors.gorush.sync", atOptional: \.gorush.isSync, as: .boolean, applies: .restart,
            documentation: "true answers with the outcomes that are known within `wait`."),
        Setting(
            "doors.gorush.wait", atOptional: \.gorush.wait, as: .duration(in: .milliseconds(100)...(.seconds(60))),
            applies: .restart, documentation: "How long an answer waits for outcomes."),
        Setting(
            "doors.gorush.dedupe", atOptional: \.gorush.dedupe, as: .duration(in: .seconds(1)...(.seconds(86_400))),
            applies: .restart,
            documentation: """
                Within this time, a notification without `notif_id` is sent once, however often it is handed in. \
                At most dedupe.window.
                """),
    ]
}
