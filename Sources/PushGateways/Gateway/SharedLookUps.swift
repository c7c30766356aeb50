import PushLoop
package import PushTransport

/// Looks the host of many gateways up once where many ask at the same time: thousands of apps have the same push
/// service, and the threads that look names up are few. Nothing is remembered: a question that comes when none is
/// under way begins another.
package final class SharedLookUps: Sendable {
    private typealias Completion = @Sendable (Result<[String], any Error>) -> Void

    private let resolver: NameResolver
    private let waiting = Locked<[String: [Completion]]>([:])

    package init(_ resolver: NameResolver) {
        self.resolver = resolver
    }

    package var lookUp: GatewaySettings.LookUp {
        { [self] place, completion in
            if SocketAddress(ip: place.host, port: place.port) != nil { return completion(.success([place.host])) }
            let isFirst = waiting.withLock { waiting in
                defer { waiting[place.host, default: []].append(completion) }
                return waiting[place.host] == nil
            }
            if isFirst { resolve(place) }
        }
    }

    private func resolve(_ place: HostPort) {
        Task.detached { [self] in
            let result: Result<[String], any Error>
            do throws(TCPError) {
                result = .success(try await resolver.resolve(place).map(\.ip))
            } catch {
                result = .failure(error)
            }
            let completions = waiting.withLock { $0.removeValue(forKey: place.host) } ?? []
            for completion in completions { completion(result) }
        }
    }
}
