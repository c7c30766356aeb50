package import PushWire

/// The visible text of a notification: one text or its parts.
package enum Alert: Sendable, Equatable {
    case text(String)
    case parts(AlertParts)
    /// The alert of a Live Activity, whose parts are localized in another way.
    case activity(ActivityAlert)

    package var json: JSONValue {
        switch self {
        case .text(let text): .string(text)
        case .parts(let parts): parts.json
        case .activity(let alert): alert.json
        }
    }
}

/// A key of the app's localized texts, with the arguments for its placeholders.
package struct LocalizedText: Sendable, Equatable {
    package var key: String
    package var arguments: [String]

    package init(_ key: String, arguments: [String] = []) {
        self.key = key
        self.arguments = arguments
    }
}

package struct AlertParts: Sendable, Equatable {
    package var title: String?
    package var subtitle: String?
    package var body: String?
    package var launchImage: String?
    package var localizedTitle: LocalizedText?
    package var localizedSubtitle: LocalizedText?
    package var localizedBody: LocalizedText?

    package init(title: String? = nil, subtitle: String? = nil, body: String? = nil) {
        self.title = title
        self.subtitle = subtitle
        self.body = body
    }

    var json: JSONValue {
        var members: [String: JSONValue] = [:]
        members["title"] = title.map { .string($0) }
        members["subtitle"] = subtitle.map { .string($0) }
        members["body"] = body.map { .string($0) }
        members["launch-image"] = launchImage.map { .string($0) }
        Self.add(localizedTitle, key: "title-loc-key", arguments: "title-loc-args", to: &members)
        Self.add(localizedSubtitle, key: "subtitle-loc-key", arguments: "subtitle-loc-args", to: &members)
        Self.add(localizedBody, key: "loc-key", arguments: "loc-args", to: &members)
        return .object(members)
    }

    private static func add(
        _ text: LocalizedText?, key: String, arguments: String, to members: inout [String: JSONValue]
    ) {
        guard let text else { return }
        members[key] = .string(text.key)
        if !text.arguments.isEmpty { members[arguments] = .array(text.arguments.map { .string($0) }) }
    }
}

/// The alert of a Live Activity. It contains the sound, and each of its texts may be localized separately.
package struct ActivityAlert: Sendable, Equatable {
    package enum Text: Sendable, Equatable {
        case plain(String)
        case localized(LocalizedText)

        var json: JSONValue {
            switch self {
            case .plain(let text): .string(text)
            case .localized(let text):
                text.arguments.isEmpty
                    ? ["loc-key": .string(text.key)]
                    : ["loc-key": .string(text.key), "loc-args": .array(text.arguments.map { .string($0) })]
            }
        }
    }

    package var title: Text?
    package var body: Text?
    package var sound: String?

    package init(title: Text? = nil, body: Text? = nil, sound: String? = nil) {
        self.title = title
        self.body = body
        self.sound = sound
    }

    var json: JSONValue {
        var members: [String: JSONValue] = [:]
        members["title"] = title?.json
        members["body"] = body?.json
        members["sound"] = sound.map { .string($0) }
        return .object(members)
    }
}
