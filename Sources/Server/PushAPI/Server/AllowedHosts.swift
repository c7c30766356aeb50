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
        guard let name = Self.name(in: host) else { return false }
        return names.contains(name) || IPAddress(name) != nil
    }

    /// Returns the name without a port, brackets and the dot at the end of a full name, in lower case. Nil if something
    /// else follows the name.
    static func name(in host: String) -> String? {
        let isBracketed = host.hasPrefix("[")
        let name = isBracketed ? host.dropFirst().prefix { $0 != "]" } : host.prefix { $0 != ":" }
        var rest = host[name.endIndex...]
        if isBracketed {
            guard rest.popFirst() == "]", IPAddress(String(name)) != nil else { return nil }
        }
        guard rest.isEmpty || rest.popFirst() == ":", rest.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return (name.hasSuffix(".") ? name.dropLast() : name).lowercased()
    }

    /// Throws unless the request names this server and does not come from a page of another site.
    func check(_ request: HTTP1Request) throws(Problem) {
        let host = request.headers["Host"] ?? ""
        guard contains(host) else {
            throw Problem(
                .unknownHost,
                detail: "this server does not serve the host that the request names; add it to http.hosts if it should")
        }
        // Browsers send each of these fields once.
        guard !request.headers.isRepeated("Sec-Fetch-Site"), !request.headers.isRepeated("Origin") else {
            throw Problem(.crossOrigin, detail: "Origin or Sec-Fetch-Site is given twice")
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
