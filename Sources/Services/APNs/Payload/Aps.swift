import PushWire

/// The keys of `aps`. Values that are nil, empty or false are omitted.
package struct Aps: Sendable, Equatable {
    package var alert: Alert?
    /// The number on the app's icon; 0 removes it.
    package var badge: Int64?
    package var sound: Sound?
    package var threadID: String?
    package var category: String?
    /// `content-available: 1`: the app is woken in the background.
    package var isContentAvailable = false
    /// `mutable-content: 1`: the app's service extension may change the notification before it is shown.
    package var isMutable = false
    package var targetContentID: String?
    package var interruptionLevel: InterruptionLevel?
    /// From 0 to 1; any number for Live Activities.
    package var relevanceScore: Double?
    package var filterCriteria: String?
    /// `content-changed: true`, for widgets and controls.
    package var hasChangedContent = false
    /// The arguments for the placeholders of a website's URL, for Safari.
    package var urlArguments: [String]?
    package var liveActivity: LiveActivity?
    package var accessory: AccessoryMessage?

    package init(alert: Alert? = nil, badge: Int64? = nil, sound: Sound? = nil, liveActivity: LiveActivity? = nil) {
        self.alert = alert
        self.badge = badge
        self.sound = sound
        self.liveActivity = liveActivity
    }

    /// The content of a background notification, which only wakes the app.
    package static let background: Aps = {
        var aps = Aps()
        aps.isContentAvailable = true
        return aps
    }()

    package static let contentChanged: Aps = {
        var aps = Aps()
        aps.hasChangedContent = true
        return aps
    }()

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("alert", value: alert?.json)
            writer.member("badge", value: badge)
            writer.member("sound", value: sound?.json)
            writer.member("thread-id", value: threadID)
            writer.member("category", value: category)
            if isContentAvailable { writer.member("content-available", value: Int64(1)) }
            if isMutable { writer.member("mutable-content", value: Int64(1)) }
            writer.member("target-content-id", value: targetContentID)
            writer.member("interruption-level", value: interruptionLevel?.rawValue)
            writer.member("relevance-score", value: relevanceScore)
            writer.member("filter-criteria", value: filterCriteria)
            if hasChangedContent { writer.member("content-changed", value: true) }
            writer.member("url-args", value: urlArguments.map { .array($0.map { .string($0) }) })
            liveActivity?.write(to: &writer)
            accessory?.write(to: &writer)
        }
    }
}

/// A message for an accessory, which only the accessory can read.
package struct AccessoryMessage: Sendable, Equatable {
    package var encryptedData: String
    package var sessionIdentifier: String
    package var keyID: String
    package var messageIndex: String

    package init(encryptedData: String, sessionIdentifier: String, keyID: String, messageIndex: String) {
        self.encryptedData = encryptedData
        self.sessionIdentifier = sessionIdentifier
        self.keyID = keyID
        self.messageIndex = messageIndex
    }

    func write(to writer: inout JSONWriter) {
        writer.member("encryptedData", value: encryptedData)
        writer.member("sessionIdentifier", value: sessionIdentifier)
        writer.member("keyID", value: keyID)
        writer.member("messageIndex", value: messageIndex)
    }
}

package enum InterruptionLevel: String, CaseIterable, Sendable {
    case passive, active
    case timeSensitive = "time-sensitive"
    case critical
}

package enum Sound: Sendable, Equatable {
    case named(String)
    /// A sound that plays even if the device is muted, which requires an entitlement. The volume is 0 to 1.
    case critical(name: String, volume: Double?)

    var json: JSONValue {
        switch self {
        case .named(let name): .string(name)
        case .critical(let name, let volume):
            .object(
                [
                    "critical": 1, "name": .string(name), "volume": volume.map { .number($0) },
                ].compactMapValues { $0 })
        }
    }
}
