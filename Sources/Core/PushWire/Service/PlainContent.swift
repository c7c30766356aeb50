import PushModel

/// A plain field of an envelope.
package enum PlainField: String, Sendable, CaseIterable {
    case alert, badge, sound, custom, image, link, category, thread
}

/// What a push service can show of plain fields.
package struct PlainRules: Sendable {
    /// The name of the push service, for rejections.
    package let service: String
    package let fields: [PlainField]
    /// The members of `alert` that the service has besides `title`, `subtitle` and `body`. It checks their values itself.
    package let alertMembers: [String]

    package init(_ service: String, shows fields: [PlainField], alertMembers: [String] = []) {
        self.service = service
        self.fields = fields
        self.alertMembers = alertMembers
    }
}

/// The plain fields of an envelope, from which a push service builds a payload. Their types have been checked: `alert` is
/// a string or an object whose `title`, `subtitle` and `body` are strings, `badge` is a whole number, `sound` is a string
/// or an object, `custom` is an object, and the others are strings that are not empty and have no control characters.
package struct PlainContent {
    package let json: IndexedJSON
    package var alert: IndexedJSON.Position?
    package var badge: IndexedJSON.Position?
    package var sound: IndexedJSON.Position?
    package var custom: IndexedJSON.Position?
    /// The address of an image.
    package var image: IndexedJSON.Position?
    /// What the notification opens.
    package var link: IndexedJSON.Position?
    /// The name of a category of notifications, which the app knows.
    package var category: IndexedJSON.Position?
    /// The name of the group in which the device shows the notification.
    package var thread: IndexedJSON.Position?
    /// The texts of ``alert`` that contain values of the recipient; nil for a message without values.
    var substitution: Substitution?

    /// Creates a content without fields.
    package init(json: IndexedJSON) {
        self.json = json
    }

    /// Whether the texts contain values, so that the size of a payload is known when they are filled in.
    package var hasValues: Bool { substitution != nil }

    package subscript(field: PlainField) -> IndexedJSON.Position? {
        switch field {
        case .alert: alert
        case .badge: badge
        case .sound: sound
        case .custom: custom
        case .image: image
        case .link: link
        case .category: category
        case .thread: thread
        }
    }

    /// Throws if there is a field that the push service cannot show, so that no part of a message is lost silently.
    func check(against rules: PlainRules) throws(Rejection) {
        for field in PlainField.allCases where self[field] != nil && !rules.fields.contains(field) {
            throw Rejection(
                .badPayload,
                detail: "\(field.rawValue): \(rules.service) cannot show it; remove it, or give payload instead")
        }
    }
}
