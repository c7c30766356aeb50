import PushModel
import PushTransport

/// The limits and words of payloads.
enum WebPushPayload {
    /// The largest payload: push services need not take a body of more than 4096 bytes (RFC 8030, section 7.2).
    static let limit = MessageEncryptor.recordSize - MessageEncryptor.overhead

    static func rejection(_ field: String, _ problem: String) -> Rejection {
        Rejection(.badPayload, detail: "webpush: \(field) \(problem)")
    }
}
