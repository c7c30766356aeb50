import Foundation

/// The name of a stored response: of its URL, of the credentials that it was asked with, and of the values that `Vary`
/// names. Each part is a digest, so that names are of one length and reveal neither queries nor credentials.
struct CacheKey: Sendable, Hashable, CustomStringConvertible {
    let url: String
    let credentials: String
    let variant: String

    init(url: String, credentials: String, variant: String) {
        self.url = url
        self.credentials = credentials
        self.variant = variant
    }

    /// Reads a name of a file; nil if it is not one of a stored response.
    init?(name: String) {
        let parts = name.split(separator: "-", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, parts.map(\.count) == [32, 16, 16],
            parts.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) } })
        else { return nil }
        self.init(url: parts[0], credentials: parts[1], variant: parts[2])
    }

    var description: String { "\(url)-\(credentials)-\(variant)" }

    /// Returns the digest of a URL without its fragment. Other forms of the same URL have the same digest: the case of
    /// scheme and host, a port that is the one of the scheme, and an empty path (RFC 3986, section 6.2).
    static func digest(of url: URL) -> String {
        digest(name(of: url).utf8, count: 16)
    }

    private static func name(of url: URL) -> String {
        guard let origin = Origin(url), let parts = URLComponents(url: url, resolvingAgainstBaseURL: true) else {
            return String(url.absoluteString.prefix { $0 != "#" })
        }
        let user = [parts.percentEncodedUser, parts.percentEncodedPassword].compactMap { $0 }.joined(separator: ":")
        let path = parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath
        // A space is in no URL, so that no part can look like another one.
        return "\(origin) \(user) \(path)\(parts.percentEncodedQuery.map { "?\($0)" } ?? "")"
    }

    /// Returns the digest of all fields that say whose request it is.
    static func digest(ofCredentialsIn request: Request) -> String {
        let names = Set((RedirectRule.alwaysCredentials + request.redirect.credentials).map { $0.lowercased() })
        let values = names.sorted().compactMap { name in request.fields[name].map { "\(name): \($0)\n" } }
        return digest(values.joined().utf8, count: 8)
    }

    static func digest(of varying: [String: String]) -> String {
        digest(varying.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)\n" }.joined().utf8, count: 8)
    }

    static func digest(_ bytes: some Sequence<UInt8>, count: Int) -> String {
        SHA256Digest.text(of: bytes, count: count)
    }
}
