/// A method of HTTP that the queue sends.
public enum HTTPMethod: String, Sendable, Hashable, CaseIterable {
    /// Reads.
    case get = "GET"
    /// Reads the header fields alone.
    case head = "HEAD"
    /// Submits.
    case post = "POST"
    /// Creates or replaces.
    case put = "PUT"
    /// Changes in part.
    case patch = "PATCH"
    /// Removes.
    case delete = "DELETE"

    /// Whether the method only reads (RFC 9110, section 9.2.1).
    public var isSafe: Bool { self == .get || self == .head }

    /// Whether sending the request twice has the same effect as sending it once (RFC 9110, section 9.2.2).
    public var isIdempotent: Bool { self != .post && self != .patch }
}
