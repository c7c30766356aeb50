/// The conditions under which a redirect is followed.
///
/// A POST becomes a GET after 301 and 302, every method but HEAD becomes GET after 303, and 307 and 308 keep method and
/// body. A redirect from `https` to `http` is refused. When a redirect leads to another origin (scheme, host and port),
/// the fields in ``credentials`` are removed for the rest of the request.
public struct RedirectRule: Sendable, Hashable {
    /// The number of redirects that are followed. With 0, the redirect itself is the response.
    public var maxHops: Int
    /// The names of the fields that must not reach another origin, beside `Authorization`, `Cookie` and
    /// `Proxy-Authorization`.
    public var credentials: [String]

    /// Creates a rule; the defaults are those of ``standard``.
    public init(maxHops: Int = 10, credentials: [String] = ["X-Api-Key", "Signature", "Signature-Input"]) {
        self.maxHops = maxHops
        self.credentials = credentials
    }

    /// Up to ten redirects.
    public static let standard = RedirectRule()
    /// No redirect is followed.
    public static let never = RedirectRule(maxHops: 0)

    static let alwaysCredentials = ["Authorization", "Cookie", "Proxy-Authorization"]
}
