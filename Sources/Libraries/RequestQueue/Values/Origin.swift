import Foundation

/// The scheme, host and port of a URL: the unit of limits, budgets and credentials.
struct Origin: Sendable, Hashable, CustomStringConvertible {
    let scheme: String
    let host: String
    let port: Int

    /// Returns nil if the URL is not one of HTTP with a host.
    init?(_ url: URL) {
        guard let scheme = url.scheme?.lowercased(), let host = url.host?.lowercased(), !host.isEmpty else {
            return nil
        }
        switch scheme {
        case "http": port = url.port ?? 80
        case "https": port = url.port ?? 443
        default: return nil
        }
        self.scheme = scheme
        self.host = host
    }

    var isSecure: Bool { scheme == "https" }

    var description: String { "\(scheme)://\(host.contains(":") ? "[\(host)]" : host):\(port)" }
}

extension URL {
    /// The URL for messages: without user, password, query and fragment, which may hold secrets.
    var plain: String {
        guard let origin = Origin(self) else { return "a URL that is not http or https" }
        return "\(origin)\(path.isEmpty ? "/" : path)"
    }
}
