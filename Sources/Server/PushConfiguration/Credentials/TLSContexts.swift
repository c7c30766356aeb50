import PushLoop
package import PushTransport

/// TLS contexts that are shared by the apps with the same trusted roots and without a client certificate.
///
/// Reading the roots of the system takes milliseconds and half a megabyte, which is too much for each of thousands of
/// apps. An instance serves one load of the configuration; the next load reads the files with the roots again.
package final class TLSContexts: Sendable {
    private struct Key: Hashable {
        let file: String?
        let alpn: [String]
    }

    private let contexts = Locked<[Key: TLSContext]>([:])

    package init() {}

    /// Returns the shared context for these roots and protocols. It blocks, so do not call it on an event loop.
    package func client(_ trust: Configuration.Endpoint.Trust, alpn: [String]) throws -> TLSContext {
        let file: String? = if case .file(let path) = trust { path } else { nil }
        return try contexts.withLock { contexts in
            let key = Key(file: file, alpn: alpn)
            if let known = contexts[key] { return known }
            var configuration = TLSClientConfiguration(trust: trust.forTLS)
            configuration.alpn = alpn
            let context = try TLSContext.client(configuration)
            contexts[key] = context
            return context
        }
    }
}
