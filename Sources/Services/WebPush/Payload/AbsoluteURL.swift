/// URLs with a scheme and a host, as a notification opens them.
package enum AbsoluteURL {
    package static func isValid(_ text: String) -> Bool {
        for scheme in ["https://", "http://"] where text.lowercased().hasPrefix(scheme) {
            let rest = text.utf8.dropFirst(scheme.utf8.count)
            guard let first = rest.first, first != UInt8(ascii: "/"), first != UInt8(ascii: "?") else { return false }
            return !text.utf8.contains { $0 <= 0x20 || $0 == 0x7f }
        }
        return false
    }
}
