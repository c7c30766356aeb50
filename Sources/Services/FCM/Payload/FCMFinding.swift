/// A problem of a message that FCM takes, with its place and advice.
package struct FCMFinding {
    /// The codes in acks.
    package enum Code: String, CaseIterable, Sendable {
        case notInPayload = "not_in_payload"
        case onlyForBackground = "only_for_background"
    }

    let code: Code
    let path: String
    let detail: String

    init(_ code: Code, _ path: String, _ detail: String) {
        (self.code, self.path, self.detail) = (code, path, detail)
    }
}
