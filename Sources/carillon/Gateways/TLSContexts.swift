import PushLoop
import PushTransport

/// TLS contexts that several apps share: those that trust the same roots and show no certificate. To read the roots of
/// the system takes milliseconds and half a megabyte, which thousands of apps need not each pay.
///
/// Made for one reading of the configuration: the next reads the files of the roots again.
final class TLSContexts: Sendable {
    private struct Key: Hashable {
        let file: String?
        let alpn: [String]
    }

    private let contexts = Locked<[Key: TLSContext]>([:])

    /// Blocks: not to be called on a loop.
    func client(_ trust: Configuration.Endpoint.Trust, alpn: [String]) throws -> TLSContext {
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
