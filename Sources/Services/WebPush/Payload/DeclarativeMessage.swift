import PushModel
import PushWire

/// The payload that is built from the plain fields of an envelope: a declarative message, which newer browsers show by
/// themselves, and which a service worker can read in the others:
///
///     {"web_push":8030,"notification":{"title":…,"body":…,"navigate":…,…},"app_badge":…}
///
/// A background message has only the data of the app: `{"data":{…}}`.
enum DeclarativeMessage {
    /// What the app gives for messages that do not have it.
    struct Words: Sendable {
        let title: String
        /// What a notification without a link opens.
        let navigate: String?
    }

    static func bytes(
        from content: PlainContent, for options: MessageOptions, words: Words
    ) throws(Rejection) -> [UInt8] {
        var text = CanonicalJSON(content, limit: WebPushPayload.limit)
        if options.type == .background {
            try appendBackground(content, to: &text)
        } else {
            try appendAlert(content, options: options, words: words, to: &text)
        }
        guard !text.isTooLarge, content.hasValues || text.bytes.count <= WebPushPayload.limit else {
            throw Rejection(
                .payloadTooLarge, detail: "webpush: the message is over \(WebPushPayload.limit) bytes")
        }
        return text.bytes
    }

    private static func appendBackground(
        _ content: PlainContent, to text: inout CanonicalJSON
    ) throws(Rejection) {
        for (name, position) in [
            ("alert", content.alert), ("badge", content.badge), ("image", content.image), ("link", content.link),
        ] where position != nil {
            throw WebPushPayload.rejection(name, "is not shown: a background message shows nothing; leave it out")
        }
        text.append(#"{"data":"#)
        if let custom = content.custom {
            try text.append(custom, of: "custom")
        } else {
            text.append("{}")
        }
        text.append("}")
    }

    private static func appendAlert(
        _ content: PlainContent, options: MessageOptions, words: Words, to text: inout CanonicalJSON
    ) throws(Rejection) {
        guard let alert = content.alert else {
            throw WebPushPayload.rejection("alert", "is missing: browsers show a notification for each message")
        }
        text.append(#"{"web_push":8030,"notification":{"title":"#)
        try append(alert: alert, of: content, words: words, to: &text)
        try appendNavigate(content, words: words, to: &text)
        if let collapseID = options.collapseID {
            text.append(#","tag":"#)
            text.append(string: collapseID.text)
        }
        if let badge = content.badge {
            guard let number = content.json.integer(badge), (0...Int64(Int32.max)).contains(number) else {
                throw WebPushPayload.rejection("badge", "is not a number from 0 to \(Int32.max)")
            }
            text.append(#","app_badge":"#)
            try text.append(badge, of: "badge")
        }
        if let image = content.image {
            text.append(#","image":"#)
            try text.append(image, of: "image")
        }
        if let custom = content.custom {
            text.append(#","data":"#)
            try text.append(custom, of: "custom")
        }
        text.append("}")
        if let badge = content.badge {
            // Where browsers read it first, and where they do now.
            text.append(#","app_badge":"#)
            try text.append(badge, of: "badge")
        }
        text.append("}")
    }

    /// Appends the title, and the text if there is one.
    private static func append(
        alert: IndexedJSON.Position, of content: PlainContent, words: Words, to text: inout CanonicalJSON
    ) throws(Rejection) {
        guard content.json.kind(alert) == .object else {
            text.append(string: words.title)
            text.append(#","body":"#)
            return try text.append(alert, of: "alert")
        }
        var title: IndexedJSON.Position?
        var body: IndexedJSON.Position?
        for member in try text.members(of: alert, in: "alert") {
            switch member.key {
            case "title": title = member.value
            case "body": body = member.value
            default:
                throw WebPushPayload.rejection(
                    "alert.\(member.key)", "cannot be shown; give title and body, or payload")
            }
        }
        if let title {
            try text.append(title, of: "alert")
        } else {
            text.append(string: words.title)
        }
        if let body {
            text.append(#","body":"#)
            try text.append(body, of: "alert")
        }
    }

    /// Appends what a click opens. A declarative message without it is not one.
    private static func appendNavigate(
        _ content: PlainContent, words: Words, to text: inout CanonicalJSON
    ) throws(Rejection) {
        text.append(#","navigate":"#)
        if let link = content.link {
            guard let address = content.json.string(link), AbsoluteURL.isValid(address) else {
                throw WebPushPayload.rejection("link", "is not an absolute URL, such as https://shop.example.com/4711")
            }
            try text.append(link, of: "link")
        } else if let navigate = words.navigate {
            text.append(string: navigate)
        } else {
            throw WebPushPayload.rejection(
                "link", "is missing, and the app has no setting navigate: browsers need a page that a click opens")
        }
    }
}
