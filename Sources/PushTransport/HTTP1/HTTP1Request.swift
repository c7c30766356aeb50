/// The methods that are passed to the handler. CONNECT is answered with 405, because this server is not a proxy. Other
/// methods are answered with 501.
package enum HTTP1Method: String, Sendable, CaseIterable {
    case get = "GET"
    case head = "HEAD"
    case post = "POST"
    case put = "PUT"
    case delete = "DELETE"
    case options = "OPTIONS"
    case trace = "TRACE"
    case patch = "PATCH"
}

/// The sender of a request.
package enum HTTP1Peer: Hashable, Sendable, CustomStringConvertible {
    case address(host: String, port: UInt16)
    /// The request came through a Unix socket. The mode of the socket file controls the access.
    case local

    package var description: String {
        switch self {
        case .address(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .local: "local"
        }
    }
}

/// A complete and validated request. It is a value, so it may be passed to other loops.
package struct HTTP1Request: Sendable {
    package let method: HTTP1Method
    /// The target as sent by the client: path and query, still encoded. Signatures cover this form.
    package let target: String
    /// The path segments: the path is split at the slashes in the encoded form, and each segment is then decoded. `/`
    /// has no segment, and `/a/` ends with an empty one. No segment contains a control character, or `.` or `..` as a
    /// path step. An encoded slash stays within its segment.
    package let path: [String]
    package let query: [HTTP1QueryItem]
    package let headers: HTTP1Headers
    package let body: [UInt8]
    package let peer: HTTP1Peer

    /// Returns the first value of this name in the query.
    package func queryValue(_ name: String) -> String? {
        query.first { $0.name == name }?.value
    }
}

package struct HTTP1QueryItem: Hashable, Sendable {
    package let name: String
    /// The value; empty if the item has no `=`.
    package let value: String

    package init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}
