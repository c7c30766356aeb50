import PushModel

/// An installation of an app: its addresses share their user, tags, locale and time zone.
struct Installation: Hashable, Sendable {
    let app: String
    let name: ExactText

    init(app: String, name: String) {
        self.app = app
        self.name = ExactText(name)
    }
}

extension Device {
    /// The installation to which the address belongs; nil if nobody has stated one.
    var home: Installation? { installation.map { Installation(app: app, name: $0) } }
}
