/// The reason why a request has no response.
///
/// A response with a status such as 404 or 503 is not an error; see ``Response/status``.
public struct RequestError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kinds of errors. Later versions may add some.
    public enum Code: String, Sendable, Equatable {
        /// The request cannot be sent as it is: its URL, a header field or its body is invalid.
        case invalidRequest
        /// The wait list of the queue is full, or a request with a higher priority took this one's place.
        case queueFull
        /// The request was cancelled.
        case cancelled
        /// No data moved for longer than ``Timeouts/idle``, or the whole request took longer than ``Timeouts/total``.
        case timedOut
        /// No connection to the server was made.
        case cannotConnect
        /// The certificate of the server is not trusted, has expired, or is for another name.
        case untrusted
        /// The connection ended before the response was complete, or the response is not valid HTTP.
        case connectionLost
        /// A file of the request's body cannot be read, or became shorter while it was sent.
        case bodyUnreadable
        /// The response is larger than the request allows.
        case responseTooLarge
        /// There were more redirects than ``RedirectRule/maxHops``.
        case tooManyRedirects
        /// A redirect leads from `https` to `http`, or to something that is not HTTP.
        case redirectRefused
        /// The file changed on the server whenever the download was resumed.
        case downloadChanged
        /// The destination of a download cannot be written, or another download writes it.
        case fileUnwritable
        /// There is no usable stored response, and the policy forbids a request.
        case notCached
    }

    /// The kind of the error.
    public let code: Code
    /// The sentence that says what happened, where, and what to do. It holds no query and no header field.
    public let message: String

    /// Creates an error.
    public init(_ code: Code, message: String) {
        self.code = code
        self.message = message
    }

    /// The message.
    public var description: String { message }
}
