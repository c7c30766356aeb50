import Glibc
package import PushLoop

/// A resolver of host names. It calls the system's resolver on threads that may block, so that the hosts file and the
/// name-service settings apply. It caches nothing: the addresses of a push service change, and each new connection must
/// use the current ones.
package final class NameResolver: Sendable {
    package typealias LookUp = @Sendable (HostPort) throws -> [SocketAddress]

    private let pool: BlockingPool
    private let lookUp: LookUp

    /// - Parameter lookUp: looks a host up, and may block; the system's resolver unless another is given.
    package init(pool: BlockingPool, lookUp: LookUp? = nil) {
        self.pool = pool
        self.lookUp = lookUp ?? { try Self.look(up: $0) }
    }

    /// Returns all addresses of the host in the system's order of preference. The result is never empty.
    package func resolve(_ endpoint: HostPort) async throws(TCPError) -> [SocketAddress] {
        do {
            return try await pool.run { [lookUp] in try lookUp(endpoint) }
        } catch let error as TCPError {
            throw error
        } catch {
            throw TCPError(.other, message: "cannot look up \(endpoint.host): \(error)")
        }
    }

    private static func look(up endpoint: HostPort) throws(TCPError) -> [SocketAddress] {
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        unsafe hints.ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV
        var list: UnsafeMutablePointer<addrinfo>?
        let result = unsafe getaddrinfo(endpoint.host, String(endpoint.port), &hints, &list)
        defer { unsafe freeaddrinfo(list) }
        guard result == 0 else {
            let reason = unsafe String(cString: gai_strerror(result))
            throw TCPError(
                .nameNotFound,
                message: "cannot look up \(endpoint.host): \(reason); check the name and the DNS settings")
        }
        var addresses: [SocketAddress] = []
        var next = unsafe list
        while let entry = unsafe next {
            if let address = unsafe entry.pointee.ai_addr {
                let found = unsafe SocketAddress(copying: address, length: entry.pointee.ai_addrlen)
                if !addresses.contains(found) { addresses.append(found) }
            }
            unsafe next = entry.pointee.ai_next
        }
        guard !addresses.isEmpty else {
            throw TCPError(.nameNotFound, message: "cannot look up \(endpoint.host): the name has no address")
        }
        return addresses
    }
}
