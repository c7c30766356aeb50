/// A method of HTTP that the queue sends.
public enum HTTPMethod: String, Sendable, Hashable, CaseIterable {
    case get = "GET"
    case head = "HEAD"
    case post = "POST"
    case put = "PUT"
    case patch = "PATCH"
    case delete = "DELETE"

    /// Whether the method only reads (RFC 9110, section 9.2.1).
    public var isSafe: Bool { self == .get || self == .head }

    /// Whether sending the request twice has the same effect as sending it once (RFC 9110, section 9.2.2).
    public var isIdempotent: Bool { self != .post && self != .patch }
}
