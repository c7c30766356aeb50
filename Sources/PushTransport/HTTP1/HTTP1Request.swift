/// The methods that are handed on. CONNECT is answered with 405: this is not a proxy. Any other: 501.
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

/// Who sent a request.
package enum HTTP1Peer: Hashable, Sendable, CustomStringConvertible {
    case address(host: String, port: UInt16)
    /// Came through a Unix socket; its file's mode decides who may.
    case local

    package var description: String {
        switch self {
        case .address(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .local: "local"
        }
    }
}

/// A whole request, read and checked. A value: it may cross loops.
package struct HTTP1Request: Sendable {
    package let method: HTTP1Method
    /// As the client wrote it: path and query, still encoded. What signatures are made over.
    package let target: String
    /// The path's segments, split at the slashes the client wrote, then decoded. `/` has none, `/a/` ends in an
    /// empty one. No segment is or leads to `.` or `..`, none holds a control character; an encoded slash stays
    /// within its segment.
    package let path: [String]
    package let query: [HTTP1QueryItem]
    package let headers: HTTP1Headers
    package let body: [UInt8]
    package let peer: HTTP1Peer

    /// The first value under this name in the query.
    package func queryValue(_ name: String) -> String? {
        query.first { $0.name == name }?.value
    }
}

package struct HTTP1QueryItem: Hashable, Sendable {
    package let name: String
    /// Empty where the item has no `=`.
    package let value: String

    package init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}
