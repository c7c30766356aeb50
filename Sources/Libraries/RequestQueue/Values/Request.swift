public import Foundation

/// The limits on the time that a request takes.
public struct Timeouts: Sendable, Hashable {
    /// The longest time in which an attempt neither sends nor receives data.
    public var idle: Duration
    /// The longest time from the submission to the end, with waiting, retries and redirects; nil for no limit.
    public var total: Duration?

    /// Creates limits.
    public init(idle: Duration = .seconds(60), total: Duration? = nil) {
        self.idle = idle
        self.total = total
    }
}

/// A request and the rules for carrying it out.
///
/// ```swift
/// var request = Request.post(url, body: try .json(["name": "Ada"]))
/// request.fields["Authorization"] = "Bearer \(token)"
/// request.priority = .high
/// let response = try await RequestQueue.shared.send(request)
/// ```
public struct Request: Sendable {
    /// The method.
    public var method: HTTPMethod
    /// The URL, with `http` or `https`.
    public var url: URL
    /// The header fields. The queue sets `Content-Type` if it is absent, and always `Content-Length`.
    public var fields = HeaderFields()
    /// The body.
    public var body: RequestBody
    /// The order among the waiting requests.
    public var priority = Priority.normal
    /// When the request is sent again.
    public var retry = RetryRule.standard
    /// Which redirects are followed.
    public var redirect = RedirectRule.standard
    /// How long the request may take.
    public var timeouts = Timeouts()
    /// The largest body of a response that is kept in memory. A larger one is ``RequestError/Code/responseTooLarge``.
    public var maxResponseBytes = 16 << 20

    /// Creates a request.
    public init(_ method: HTTPMethod, url: URL, body: RequestBody = .none) {
        self.method = method
        self.url = url
        self.body = body
    }

    /// Returns a request that reads.
    public static func get(_ url: URL) -> Request { Request(.get, url: url) }

    /// Returns a request that submits.
    public static func post(_ url: URL, body: RequestBody) -> Request { Request(.post, url: url, body: body) }

    /// Returns a request that replaces.
    public static func put(_ url: URL, body: RequestBody) -> Request { Request(.put, url: url, body: body) }

    /// Returns a request that removes.
    public static func delete(_ url: URL) -> Request { Request(.delete, url: url) }

    /// The reason why the request cannot be sent; nil if it can.
    var fault: RequestError? {
        if Origin(url) == nil || url.user != nil || url.password != nil {
            return RequestError(
                .invalidRequest,
                message:
                    "cannot send a request to \(url.plain): the URL must have the scheme http or https and a host, "
                    + "and neither user nor password; send them in the field Authorization")
        }
        if let field = fields.firstInvalid {
            return RequestError(
                .invalidRequest,
                message: "cannot send the header field \(field.name.debugDescription) to \(url.plain): "
                    + "its name or value has characters that a field must not have")
        }
        for name in ["Content-Length", "Transfer-Encoding", "Host", "Connection"] where fields[name] != nil {
            return RequestError(
                .invalidRequest,
                message: "cannot set the header field \(name) to \(url.plain): the queue sets it itself")
        }
        if method.isSafe && !body.isNone {
            return RequestError(
                .invalidRequest,
                message: "cannot send a body with \(method.rawValue) to \(url.plain); use another method")
        }
        return nil
    }
}
