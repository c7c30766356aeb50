public import Foundation

/// The server, app and key of a registrar.
public struct RegistrarConfiguration: Sendable {
    /// The URL of the server, such as `https://push.example.com`.
    public var server: URL
    /// The name of the app in the server's configuration.
    public var app: String
    /// The id of an API key with the role `register`.
    public var keyID: String
    /// The secret of the key.
    public var secret: KeySecret
    /// The file in which the registrar remembers what the server knows. It holds tokens and users, but not the secret.
    /// An app and its notification extension need two files.
    public var file: URL
    /// The name of this installation of the app, such as a UUID that the app makes at its first launch and keeps; up to
    /// 128 bytes. The tokens of all purposes then share their user, tags, locale and time zone. Nobody else should be
    /// able to guess it.
    public var installation: String?

    /// Creates a configuration.
    public init(
        server: URL, app: String, keyID: String, secret: KeySecret, file: URL, installation: String? = nil
    ) {
        self.server = server
        self.app = app
        self.keyID = keyID
        self.secret = secret
        self.file = file
        self.installation = installation
    }

    /// Returns the URL of a route of the app; nil if the server is not a URL of HTTP.
    func url(_ route: String) -> URL? {
        guard var components = URLComponents(url: server, resolvingAgainstBaseURL: true),
            ["http", "https"].contains(components.scheme?.lowercased() ?? ""), !(components.host ?? "").isEmpty,
            components.user == nil, components.password == nil
        else { return nil }
        var path = components.path
        while path.hasSuffix("/") { path.removeLast() }
        components.path = "\(path)/v1/apps/\(app)/\(route)"
        components.query = nil
        components.fragment = nil
        return app.isEmpty || app.contains("/") ? nil : components.url
    }
}
