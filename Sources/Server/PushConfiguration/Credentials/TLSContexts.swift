import PushLoop
package import PushTransport

/// The trusted roots of one load of the configuration, and TLS contexts that apps, webhooks and receipts share. The next
/// load reads the files again.
package final class TLSContexts: Sendable {
    private struct Shared {
        var roots: [Configuration.Endpoint.Trust: TLSRoots] = [:]
        var contexts: [Key: TLSContext] = [:]
    }

    private struct Key: Hashable {
        let trust: Configuration.Endpoint.Trust
        let alpn: [String]
    }

    private let shared = Locked(Shared())

    package init() {}

    /// Returns the context for the endpoint of an app.
    ///
    /// - Throws: an error that names the setting, if the file of `endpoint.trust` cannot be used.
    func client(
        at endpoint: Configuration.Endpoint, alpn: [String], identity: TLSIdentity? = nil
    ) throws -> TLSContext {
        do {
            _ = try roots(endpoint.trust)
        } catch {
            throw StartError(
                .configuration, "endpoint.trust cannot be used: \(error); check the path and its permissions")
        }
        return try client(endpoint.trust, alpn: alpn, identity: identity)
    }

    /// Returns the context for these roots and protocols, shared if it needs no certificate of the client. It blocks,
    /// so do not call it on an event loop.
    package func client(
        _ trust: Configuration.Endpoint.Trust, alpn: [String], identity: TLSIdentity? = nil
    ) throws -> TLSContext {
        let roots = try roots(trust)
        return try shared.withLock { shared in
            let key = Key(trust: trust, alpn: alpn)
            if identity == nil, let known = shared.contexts[key] { return known }
            let context = try TLSContext.client(
                TLSClientConfiguration(trust: .shared(roots), identity: identity, alpn: alpn))
            if identity == nil { shared.contexts[key] = context }
            return context
        }
    }

    private func roots(_ trust: Configuration.Endpoint.Trust) throws -> TLSRoots {
        try shared.withLock { shared in
            let roots = try shared.roots[trust] ?? trust.forTLS.roots()
            shared.roots[trust] = roots
            return roots
        }
    }
}

extension Configuration.Endpoint.Trust {
    fileprivate var forTLS: TLSTrust {
        switch self {
        case .system: .system
        case .file(let path): .only([.file(path)])
        }
    }
}
