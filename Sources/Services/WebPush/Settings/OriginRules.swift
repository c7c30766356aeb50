package import PushModel

/// The origins that an app may send to. What it contains is decided by the operator.
package struct OriginRules: Sendable, Equatable {
    /// Host names, with `*.` in front for all names below, and a port if it is not 443.
    package var patterns: [String] = Self.browsers
    /// The private networks that origins may be in.
    package var privateNetworks: [AddressRange] = []
    /// The origin that the settings of the app name as its endpoint. It may be anywhere.
    package var endpoint: Origin?

    /// The push services of browsers.
    package static let browsers = [
        "fcm.googleapis.com", "*.push.services.mozilla.com", "*.notify.windows.com", "*.push.apple.com",
    ]

    package init() {}

    /// Whether the app may send to the origin.
    package func allow(_ origin: Origin) -> Bool {
        origin == endpoint || patterns.contains { Self.matches($0, origin) }
    }

    /// Returns the name by which the settings allow the origin, which may be told: the host of an endpoint is a part of an
    /// address.
    func name(of origin: Origin) -> String {
        if origin == endpoint { return origin.authority }
        return patterns.first { Self.matches($0, origin) } ?? "a push service"
    }

    private static func matches(_ pattern: String, _ origin: Origin) -> Bool {
        let text = origin.authority
        guard pattern.hasPrefix("*.") else { return pattern == text }
        return text.hasSuffix(pattern.dropFirst())
    }

    /// Whether a text can be one of ``patterns``: a host name in lower case, with `*.` in front or not, and a port.
    package static func isPattern(_ text: String) -> Bool {
        let host = text.hasPrefix("*.") ? text.dropFirst(2) : text[...]
        guard let origin = EndpointText.origin(host.utf8), origin.authority == host else { return false }
        // All names below an address, or below a single word, would be nearly everything.
        return !text.hasPrefix("*.") || (origin.host.contains(".") && IPAddress(origin.host) == nil)
    }
}
