package import Glibc
import PushLoop

/// An IPv4, IPv6 or Unix socket address in the form that system calls take.
package struct SocketAddress: Hashable, Sendable, CustomStringConvertible {
    /// The bytes of the `sockaddr`, with the length of its address family.
    private let bytes: [UInt8]

    init(copying address: UnsafePointer<sockaddr>, length: socklen_t) {
        unsafe bytes = [UInt8](UnsafeRawBufferPointer(start: address, count: Int(length)))
    }

    /// Creates an address from its numeric form. Returns nil for anything else, because names need the resolver.
    package init?(ip: String, port: UInt16) {
        var four = in_addr()
        var six = in6_addr()
        if unsafe inet_pton(AF_INET, ip, &four) == 1 {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr = four
            self.init(copyingValue: address)
        } else if unsafe inet_pton(AF_INET6, ip, &six) == 1 {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            address.sin6_addr = six
            self.init(copyingValue: address)
        } else {
            return nil
        }
    }

    /// The maximum length of a Unix socket path in bytes. The system's field also needs room for a terminating zero.
    package static let maxUnixPathLength = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

    /// Creates the address of a Unix socket file. Returns nil if the path is empty, too long, or contains a zero byte.
    package init?(unixPath path: String) {
        let utf8 = path.utf8
        guard (1...Self.maxUnixPathLength).contains(utf8.count), !utf8.contains(0) else { return nil }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: utf8) }
        self.init(copyingValue: address)
    }

    private init<Value>(copyingValue value: Value) {
        unsafe bytes = withUnsafeBytes(of: value) { unsafe [UInt8]($0) }
    }

    package var family: CInt {
        bytes.count < 2 ? AF_UNSPEC : CInt(UInt16(bytes[0]) | UInt16(bytes[1]) << 8)
    }

    /// The port, or 0 if the family has no ports.
    package var port: UInt16 {
        guard family == AF_INET || family == AF_INET6, bytes.count >= 4 else { return 0 }
        return UInt16(bytes[2]) << 8 | UInt16(bytes[3])
    }

    package var isLoopback: Bool {
        switch family {
        case AF_INET: bytes.count >= 8 && bytes[4] == 127
        case AF_INET6: ip == "::1"
        case AF_UNIX: true
        default: false
        }
    }

    /// The address in numeric form without its port.
    package var ip: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let offset = family == AF_INET6 ? 8 : 4
        guard family == AF_INET || family == AF_INET6, bytes.count > offset else { return "" }
        return unsafe bytes.withUnsafeBytes { raw in
            let address = unsafe raw.baseAddress! + offset
            guard let result = unsafe inet_ntop(family, address, &text, socklen_t(text.count)) else { return "" }
            return unsafe String(cString: result)
        }
    }

    package var description: String {
        switch family {
        case AF_INET: "\(ip):\(port)"
        case AF_INET6: "[\(ip)]:\(port)"
        case AF_UNIX: "unix socket"
        default: "address of family \(family)"
        }
    }

    package func withSockaddr<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        unsafe bytes.withUnsafeBytes { raw in
            unsafe body(raw.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(raw.count))
        }
    }

    /// Returns the address that a system call like `getsockname` provides.
    static func read(_ call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> CInt)
        -> SocketAddress?
    {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                guard unsafe call(address, &length) == 0 else { return nil }
                return unsafe SocketAddress(copying: address, length: length)
            }
        }
    }

    static func local(of descriptor: CInt) -> SocketAddress? {
        unsafe read { unsafe getsockname(descriptor, $0, $1) }
    }

    static func peer(of descriptor: CInt) -> SocketAddress? {
        unsafe read { unsafe getpeername(descriptor, $0, $1) }
    }

    /// Returns the user at the other end of a Unix socket, as it was when he connected.
    static func user(of descriptor: CInt) -> UInt32? {
        // `struct ucred`, which Glibc does not show to Swift: a process, a user and a group.
        var credentials: (process: UInt32, user: UInt32, group: UInt32) = (0, .max, .max)
        var length = socklen_t(MemoryLayout.size(ofValue: credentials))
        let size = length
        let code = unsafe getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length)
        return code == 0 && length == size && credentials.user != .max ? credentials.user : nil
    }
}

/// A host and a port as in the configuration: `example.com:443`, `127.0.0.1:0`, `[::1]:2197`.
package struct HostPort: Hashable, Sendable, CustomStringConvertible {
    package let host: String
    package let port: UInt16

    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Parses the text. Returns nil if the host is missing or the port is not a decimal 16-bit number.
    package init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":") else { return nil }
        var host = text[..<colon]
        let digits = text[text.index(after: colon)...]
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (48...57).contains($0) }), let port = UInt16(digits) else {
            return nil
        }
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        guard !host.isEmpty else { return nil }
        self.init(host: String(host), port: port)
    }

    package var description: String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}
