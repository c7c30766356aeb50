import PushGateways
import PushTransport

/// An app with its files read, and what tells them from what they were before.
struct LoadedApp: Sendable {
    let gateway: AppGateway
    /// Over the content of every file that its connections are made from.
    let files: Digest256

    /// Blocks: not to be called on a loop. Throws what is wrong with a file, in words.
    init(_ app: Configuration.App, contexts: TLSContexts) throws {
        // Before they are used: a file that changes in between is taken for changed the next time, not for unchanged.
        files = Self.digest(app)
        gateway = try AppGateway(app, contexts: contexts)
    }

    var app: Configuration.App { gateway.app }

    /// Whether connections made of the other would be no different.
    func connectsLike(_ other: LoadedApp) -> Bool {
        guard files == other.files else { return false }
        var same = other.app
        // What applies to a gateway as it is, or not to its connections.
        same.gateway.connections = app.gateway.connections
        same.gateway.connectsPerMinute = app.gateway.connectsPerMinute
        same.gateway.idle = app.gateway.idle
        same.gateway.feedback = app.gateway.feedback
        same.broadcast = app.broadcast
        same.limits = app.limits
        return app == same
    }

    private static func digest(_ app: Configuration.App) -> Digest256 {
        var paths: [String?] =
            switch app.credential {
            case .token(let key, _, _): [key]
            case .bundle(let certificate, let password): [certificate, password]
            case .certificate(let certificate, let key, let password): [certificate, key, password]
            }
        if case .file(let path) = app.endpoint.trust { paths.append(path) }
        // One that cannot be read fails where it is used, with a reason.
        let digests = paths.map { path -> String in
            guard let path, var bytes = try? BoundedFile.read(path, limit: 1 << 20) else { return "-" }
            defer { wipe(&bytes) }
            return SHA256.hash(bytes).hex
        }
        return SHA256.hash(digests.joined(separator: " "))
    }
}
