/// The network as the library needs it: a POST request and its response.
///
/// The library itself opens no connections. `ReceiptsNetwork` has an implementation with `URLSession`.
public protocol ReceiptTransport: Sendable {
    /// Sends a request and returns the response, whatever its status.
    ///
    /// An implementation verifies the certificate of an `https` server, does not follow redirects, ends after
    /// ``ReceiptRequest/timeLimit``, and reads no more than ``ReceiptRequest/maxResponseLength`` bytes of the body.
    ///
    /// - Throws: Any error if there is no whole response. It counts as a failure of the network, which is temporary.
    func post(_ request: ReceiptRequest) async throws -> ReceiptResponse
}

/// A POST request. It may contain a shared secret, so that its description does not show the body.
public struct ReceiptRequest: Sendable, CustomStringConvertible, CustomReflectable {
    /// The address, with `http` or `https`.
    public let url: String
    /// The value of the header field Content-Type.
    public let contentType: String
    /// The body.
    public let body: [UInt8]
    /// The maximum length of the response's body.
    public let maxResponseLength: Int
    /// The time for the whole request.
    public let timeLimit: Duration

    /// Creates a request.
    public init(url: String, contentType: String, body: [UInt8], maxResponseLength: Int, timeLimit: Duration) {
        self.url = url
        self.contentType = contentType
        self.body = body
        self.maxResponseLength = maxResponseLength
        self.timeLimit = timeLimit
    }

    /// The address, and the length of the body.
    public var description: String { "POST \(url), \(body.count) bytes" }

    /// A mirror without children, because the body may contain a secret.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection(), displayStyle: .struct) }
}

/// A response.
public struct ReceiptResponse: Hashable, Sendable {
    /// The status of HTTP.
    public let status: Int
    /// The body.
    public let body: [UInt8]

    /// Creates a response.
    public init(status: Int, body: [UInt8]) {
        self.status = status
        self.body = body
    }
}
