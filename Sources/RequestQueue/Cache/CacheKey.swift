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

    /// Returns the digest of a URL without its fragment.
    static func digest(of url: URL) -> String {
        digest(url.absoluteString.prefix { $0 != "#" }.utf8, count: 16)
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
        SHA256Digest.of(bytes).prefix(count).map { String(Int($0) + 256, radix: 16).dropFirst() }.joined()
    }
}
