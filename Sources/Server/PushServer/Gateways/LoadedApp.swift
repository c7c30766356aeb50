import PushConfiguration
import PushGateways
import PushLoop
import PushTime
import PushTransport

/// An app with its files read, and a digest of them that shows whether they changed.
struct LoadedApp: Sendable {
    let gateway: AppGateway
    /// The digest of all files from which the app's connections are made.
    let files: Digest256
    /// When the files were read.
    let readAt: WallTime

    /// Reads the app's files. It blocks, so do not call it on an event loop.
    ///
    /// - Throws: an error that describes the wrong file.
    init(_ app: Configuration.App, contexts: TLSContexts) throws {
        // The digest is computed before the files are used: if a file changes in between, the next reload sees it as
        // changed.
        readAt = .current()
        files = Self.digest(app)
        gateway = try AppGateway(app, contexts: contexts)
    }

    var app: Configuration.App { gateway.app }

    /// Returns whether connections made from `other` would be the same.
    func connectsLike(_ other: LoadedApp) -> Bool {
        files == other.files && app.connects(like: other.app)
    }

    /// A number that is the same on all nodes whose connections have the same credential, trust and endpoint.
    var connectionNumber: UInt64 {
        let endpoint = gateway.hostPort
        let digest = SHA256.hash("\(files.hex) \(endpoint.host):\(endpoint.port)").hex
        return UInt64(digest.prefix(16), radix: 16) ?? 0
    }

    private static func digest(_ app: Configuration.App) -> Digest256 {
        var paths = app.credentialFiles
        if case .file(let path) = app.endpoint.trust { paths.append(path) }
        // A file that cannot be read is reported where it is used.
        let digests = paths.map { path -> String in
            guard let path, var bytes = try? BoundedFile.read(path, limit: 1 << 20) else { return "-" }
            defer { wipe(&bytes) }
            return SHA256.hash(bytes).hex
        }
        return SHA256.hash(digests.joined(separator: " "))
    }
}
