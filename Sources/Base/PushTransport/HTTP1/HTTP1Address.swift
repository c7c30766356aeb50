import PushLoop

/// The address of a resource: `http://host:port/path`, or the same with `https`.
package struct HTTP1Address: Hashable, Sendable, CustomStringConvertible {
    package let isSecure: Bool
    package let endpoint: HostPort
    /// The path and the query, as they are sent.
    package let target: String

    /// Parses an address. Returns nil for other schemes, for a user name or a fragment, and for characters that must be
    /// escaped.
    package init?(_ text: String) {
        guard text.utf8.count <= 2048, let colon = text.firstIndex(of: ":") else { return nil }
        switch text[..<colon].lowercased() {
        case "http": isSecure = false
        case "https": isSecure = true
        default: return nil
        }
        guard text[colon...].hasPrefix("://") else { return nil }
        let rest = text[colon...].dropFirst(3)
        let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        let (authority, tail) = (String(rest[..<end]), rest[end...])
        guard authority.utf8.allSatisfy(Self.isHostByte), tail.utf8.allSatisfy(Self.isTargetByte) else { return nil }
        let hasPort = authority.last != "]" && authority.split(separator: "]").last?.contains(":") == true
        guard let endpoint = HostPort(hasPort ? authority : "\(authority):\(isSecure ? 443 : 80)"), endpoint.port > 0
        else { return nil }
        self.endpoint = endpoint
        target = tail.first == "/" ? String(tail) : "/\(tail)"
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: ":"), UInt8(ascii: "["), UInt8(ascii: "]"):
            true
        default: false
        }
    }

    private static func isTargetByte(_ byte: UInt8) -> Bool {
        (0x21...0x7e).contains(byte) && byte != UInt8(ascii: "#") && byte != UInt8(ascii: "\"")
    }

    /// The value of the field `Host`.
    package var host: String {
        let isDefault = endpoint.port == (isSecure ? 443 : 80)
        return isDefault ? (endpoint.host.contains(":") ? "[\(endpoint.host)]" : endpoint.host) : endpoint.description
    }

    package var description: String { "\(isSecure ? "https" : "http")://\(host)\(target)" }
}
