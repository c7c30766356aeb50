import Glibc
package import PushLoop

/// Looks names up with the system's resolver, so that hosts files and name-service settings count, on threads that
/// may block. Nothing is cached: a push service moves, and each new connection is to see where it went.
package final class NameResolver: Sendable {
    private let pool: BlockingPool

    package init(pool: BlockingPool) {
        self.pool = pool
    }

    /// All addresses of the host in the order of the system's preference; never empty.
    package func resolve(_ place: HostPort) async throws(TCPError) -> [SocketAddress] {
        do {
            return try await pool.run { try Self.look(up: place) }
        } catch let error as TCPError {
            throw error
        } catch {
            throw TCPError(.other, "cannot look up \(place.host): \(error)")
        }
    }

    private static func look(up place: HostPort) throws(TCPError) -> [SocketAddress] {
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        unsafe hints.ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV
        var list: UnsafeMutablePointer<addrinfo>?
        let result = unsafe getaddrinfo(place.host, String(place.port), &hints, &list)
        defer { unsafe freeaddrinfo(list) }
        guard result == 0 else {
            let reason = unsafe String(cString: gai_strerror(result))
            throw TCPError(
                .nameNotFound, "cannot look up \(place.host): \(reason); check the name and the DNS settings")
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
            throw TCPError(.nameNotFound, "cannot look up \(place.host): it has no address")
        }
        return addresses
    }
}
