/// Why Carillon, or this library in its place, refuses a push. The same push will be refused again.
public struct PushRefusal: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of fault, such as `bad_field` or `unknown_app`.
    public let reason: Reason
    /// One English sentence for people. Do not compare it.
    public let detail: String

    init(_ reason: Reason, detail: String) {
        self.reason = reason
        self.detail = detail
    }

    /// The reason and the sentence.
    public var description: String { "\(reason.rawValue): \(detail)" }

    /// The kind of fault. A newer Carillon may have others than those that are named here.
    public struct Reason: RawRepresentable, Sendable, Hashable {
        /// The word on the wire.
        public let rawValue: String

        /// Creates a reason by its word on the wire.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The request has a wrong form or is too large.
        public static let badFrame = Reason(rawValue: "bad_frame")
        /// The envelope is not JSON.
        public static let badJSON = Reason(rawValue: "bad_json")
        /// A required member is missing.
        public static let missingField = Reason(rawValue: "missing_field")
        /// A member has a wrong value.
        public static let badField = Reason(rawValue: "bad_field")
        /// The configuration of Carillon has no such app.
        public static let unknownApp = Reason(rawValue: "unknown_app")
        /// The audience is empty or has an invalid name.
        public static let badAudience = Reason(rawValue: "bad_audience")
        /// A token is not hexadecimal.
        public static let badToken = Reason(rawValue: "bad_token")
        /// The payload exceeds the size of its push type.
        public static let payloadTooLarge = Reason(rawValue: "payload_too_large")
        /// The payload violates the rules of its push type.
        public static let badPayload = Reason(rawValue: "bad_payload")
        /// The id is known with another content.
        public static let idConflict = Reason(rawValue: "id_conflict")
        /// The message has expired.
        public static let expired = Reason(rawValue: "expired")
        /// The key of this client may not push to the app.
        public static let forbidden = Reason(rawValue: "forbidden")
        /// The message to cancel is not known.
        public static let unknownMessage = Reason(rawValue: "unknown_message")
        /// The audience has too many names.
        public static let tooMany = Reason(rawValue: "too_many")
        /// The message was in the spool of this client for too long. If it was sent before, it may have been accepted.
        public static let tooOld = Reason(rawValue: "too_old")
    }
}
