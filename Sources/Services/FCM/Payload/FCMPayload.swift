import PushModel
import PushWire

/// The limits and words that plain fields and whole messages have in common. A payload is the member `message` of a
/// request without its target.
enum FCMPayload {
    /// The largest number of bytes in `data` and `notification`, keys and values together. Google counts in its own
    /// encoding, so the service may still refuse a message just below it.
    static let contentLimit = 4096
    /// The largest size of a payload, with its blocks for platforms.
    static let messageLimit = 16_384
    /// The longest time that FCM keeps a message for a device that is offline.
    static let maxTimeToLive: Int64 = 2_419_200

    /// Whether FCM refuses the key in `data`.
    static func isReserved(_ key: String) -> Bool {
        key == "from" || key == "message_type" || key.hasPrefix("google.") || key.hasPrefix("gcm.")
    }

    static func rejection(_ pointer: String, _ problem: String) -> Rejection {
        Rejection(.badPayload, detail: "fcm: \(pointer) \(problem)")
    }
}
