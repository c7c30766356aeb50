package import PushWire

/// The visible text of a notification, by its parts.
package struct Alert: Sendable, Equatable {
    package var title: String?
    package var subtitle: String?
    package var body: String?

    package init(title: String? = nil, subtitle: String? = nil, body: String? = nil) {
        self.title = title
        self.subtitle = subtitle
        self.body = body
    }

    package var json: JSONValue {
        var members: [String: JSONValue] = [:]
        members["title"] = title.map { .string($0) }
        members["subtitle"] = subtitle.map { .string($0) }
        members["body"] = body.map { .string($0) }
        return .object(members)
    }
}
