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
    case query = "QUERY"
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

extension HTTP1Peer {
    init(_ address: SocketAddress?) {
        guard let address, address.port > 0 else {
            self = .local
            return
        }
        self = .address(host: address.ip, port: address.port)
    }
}

/// A complete and validated request. It is a value, so it may be passed to other loops.
package struct HTTP1Request: Sendable {
    package let head: HTTP1Head
    package let body: [UInt8]
    package let peer: HTTP1Peer
    /// The user who has connected to the Unix socket; nil for any other connection.
    package var user: UInt32?

    package var method: HTTP1Method { head.method }
    /// The target as sent by the client: path and query, still encoded.
    package var target: String { head.target }
    /// The decoded segments of the path; see ``HTTP1Head/path``. They are split with every access.
    package var path: [String] { head.path }
    /// The decoded items of the query. They are split with every access.
    package var query: [HTTP1QueryItem] { head.query }
    package var headers: HTTP1Headers { head.headers }
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
