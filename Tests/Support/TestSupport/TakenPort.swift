import Glibc

/// A port of the loopback address that is bound and on which nothing listens. No other process gets it. A server of the
/// test may listen on it, also again after it has ended, if it sets SO_REUSEADDR, as most servers do.
package final class TakenPort: Sendable {
    package let number: UInt16
    private let descriptor: CInt

    package init?() {
        descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        var on: CInt = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<CInt>.size))
        let (own, room) = (descriptor, length)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(own, $0, room) == 0 && getsockname(own, $0, &length) == 0
            }
        }
        number = UInt16(bigEndian: address.sin_port)
        guard isBound else { return nil }
    }

    deinit {
        close(descriptor)
    }
}
