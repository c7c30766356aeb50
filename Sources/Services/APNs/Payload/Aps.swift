import PushWire

/// The keys of `aps` that the command line sets. Values that are nil or false are omitted.
package struct Aps: Sendable, Equatable {
    package var alert: Alert?
    /// The number on the app's icon; 0 removes it.
    package var badge: Int64?
    package var sound: String?
    package var threadID: String?
    package var category: String?
    /// `content-available: 1`: the app is woken in the background.
    package var isContentAvailable = false
    /// `mutable-content: 1`: the app's service extension may change the notification before it is shown.
    package var isMutable = false

    package init(alert: Alert? = nil, badge: Int64? = nil, sound: String? = nil) {
        self.alert = alert
        self.badge = badge
        self.sound = sound
    }

    /// The content of a background notification, which only wakes the app.
    package static let background: Aps = {
        var aps = Aps()
        aps.isContentAvailable = true
        return aps
    }()

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("alert", value: alert?.json)
            writer.member("badge", value: badge)
            writer.member("sound", value: sound)
            writer.member("thread-id", value: threadID)
            writer.member("category", value: category)
            if isContentAvailable { writer.member("content-available", value: Int64(1)) }
            if isMutable { writer.member("mutable-content", value: Int64(1)) }
        }
    }
}
