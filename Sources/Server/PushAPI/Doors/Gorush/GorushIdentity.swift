import PushModel
import PushTransport

/// What makes a notification that is handed in again the same message.
enum GorushIdentity: Sendable, Equatable {
    /// The client has named it, so that its name holds as long as that of any message.
    case named(MessageID)
    /// The client has not named it. An equal one is the same within a time alone, because the same text is sent again on
    /// purpose. The value is a hash of the notification.
    case content(String)

    /// - Parameters:
    ///   - text: The notification as it was sent.
    ///   - key: The value of `Idempotency-Key`, and the position of the notification in its request.
    init(of text: ArraySlice<UInt8>, for app: AppID, notifID: String?, key: (text: String, position: Int)?) {
        var hasher = SHA256Hasher()
        func add(_ part: some Sequence<UInt8>) { hasher.update(Array(part) + [0]) }
        add(app.name.utf8)
        if let key {
            add("key".utf8)
            add(key.text.utf8)
            add("\(key.position)".utf8)
            self = .named(Self.id(from: hasher.finish()))
            return
        }
        add("content".utf8)
        add(text)
        let digest = hasher.finish()
        // The same name with other content is another notification, as it is to gorush.
        let content = GorushIdentity.content(String(digest.hex.prefix(Self.digits)))
        self = notifID.map { .named(Self.id(from: digest, name: $0)) } ?? content
    }

    static let prefix = "gorush-"
    private static let digits = 32

    private static func id(from digest: Digest256, name: String = "") -> MessageID {
        let hex = digest.hex.prefix(digits)
        if !name.isEmpty, let id = MessageID("gorush-\(name)-\(hex)"), !DotSteps.occur(in: id.text.utf8) { return id }
        return id(ofHash: "\(hex)")
    }

    /// The id that content has in a stretch of time.
    static func id(_ hash: String, in stretch: Int64) -> MessageID { id(ofHash: "\(hash)-\(stretch)") }

    /// The hash of content in an id; nil if the id is another one.
    static func hash(of id: String) -> String? {
        let parts = id.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == "gorush", parts[1].utf8.count == digits, Int64(parts[2]) != nil else {
            return nil
        }
        return String(parts[1])
    }

    private static func id(ofHash text: String) -> MessageID {
        guard let id = MessageID("gorush-\(text)") else { preconditionFailure("\(text) is no part of an id") }
        return id
    }
}
