import PushLoop
package import PushTransport

/// Combines simultaneous look-ups of one host. Thousands of apps use the same push service, and there are few resolver
/// threads. Results are not cached: a request that arrives when no look-up of the host is in progress starts a new one.
package final class SharedLookUps: Sendable {
    private typealias Completion = @Sendable (Result<[String], any Error>) -> Void

    private let resolver: NameResolver
    private let waiting = Locked<[String: [Completion]]>([:])

    package init(_ resolver: NameResolver) {
        self.resolver = resolver
    }

    package var lookUp: GatewaySettings.LookUp {
        { [self] endpoint, completion in
            if SocketAddress(ip: endpoint.host, port: endpoint.port) != nil {
                return completion(.success([endpoint.host]))
            }
            let isFirst = waiting.withLock { waiting in
                defer { waiting[endpoint.host, default: []].append(completion) }
                return waiting[endpoint.host] == nil
            }
            if isFirst { resolve(endpoint) }
        }
    }

    private func resolve(_ endpoint: HostPort) {
        Task.detached { [self] in
            let result: Result<[String], any Error>
            do throws(TCPError) {
                result = .success(try await resolver.resolve(endpoint).map(\.ip))
            } catch {
                result = .failure(error)
            }
            let completions = waiting.withLock { $0.removeValue(forKey: endpoint.host) } ?? []
            for completion in completions { completion(result) }
        }
    }
}
