import FoundationEssentials
import PushModel
import PushTransport

/// The names by which clients may address a server. A web page of another site that made its own name lead to this
/// server (DNS rebinding) sends that name.
package struct AllowedHosts: Sendable {
    private let names: Set<String>

    /// Creates the set of these names, `localhost` and the name of this machine. IP addresses are always allowed.
    package init(_ names: [String]) {
        self.names = Set((names + ["localhost", ProcessInfo.processInfo.hostName]).map { $0.lowercased() })
    }

    /// Returns whether a value of the header `Host` is allowed.
    package func contains(_ host: String) -> Bool {
        let name = Self.name(in: host)
        return names.contains(name) || IPAddress(name) != nil
    }

    /// Returns the name without a port and brackets, in lower case.
    static func name(in host: String) -> String {
        if host.hasPrefix("[") {
            let inner = host.dropFirst().prefix { $0 != "]" }
            return inner.lowercased()
        }
        return host.prefix { $0 != ":" }.lowercased()
    }

    /// Throws unless the request names this server and does not come from a page of another site.
    func check(_ request: HTTP1Request) throws(Problem) {
        let host = request.headers["Host"] ?? ""
        guard contains(host) else {
            throw Problem(
                .unknownHost,
                detail: "this server does not serve the host that the request names; add it to http.hosts if it should")
        }
        if let site = request.headers["Sec-Fetch-Site"], site != "same-origin", site != "none" {
            throw Problem(.crossOrigin, detail: "pages of other sites cannot use this server")
        }
        if let origin = request.headers["Origin"] {
            let parts = origin.split(separator: "/", omittingEmptySubsequences: true)
            guard parts.count == 2, parts[1].lowercased() == host.lowercased() else {
                throw Problem(.crossOrigin, detail: "pages of other sites cannot use this server")
            }
        }
    }
}
