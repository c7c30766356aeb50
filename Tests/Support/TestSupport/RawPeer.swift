import Glibc

/// A TCP connection that sends arbitrary bytes to a ZeroMQ port. Its calls block, but not beyond their
/// ``Patience``.
package final class RawPeer {
    package struct Failure: Error {
        package let action: String
        package let number: CInt
    }

    private let descriptor: CInt

    /// - Parameter endpoint: The address of the port, such as "tcp://127.0.0.1:5555".
    package convenience init(to endpoint: String) throws {
        try self.init(endpoint, kind: SOCK_STREAM.rawValue)
    }

    /// Starts connecting without waiting; ``isConnected`` reports whether the connection is established.
    package convenience init(toward endpoint: String) throws {
        try self.init(endpoint, kind: SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue)
    }

    private init(_ endpoint: String, kind: UInt32) throws {
        guard let port = endpoint.split(separator: ":").last.flatMap({ UInt16($0) }) else {
            throw Failure(action: "read the port of \(endpoint)", number: EINVAL)
        }
        descriptor = socket(AF_INET, CInt(kind), 0)
        guard descriptor >= 0 else { throw Failure(action: "make a socket", number: errno) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 || errno == EINPROGRESS else { throw Failure(action: "connect", number: errno) }
        Patience.prepare(descriptor)
    }

    package var isConnected: Bool {
        var asked = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return poll(&asked, 1, 0) == 1 && asked.revents & Int16(POLLERR | POLLHUP) == 0
    }

    /// Whether a few kilobytes can be written without waiting.
    package var canWrite: Bool {
        var asked = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return poll(&asked, 1, 0) == 1
    }

    deinit {
        Glibc.close(descriptor)
    }

    /// Writes bytes; returns false if the peer has closed the connection.
    @discardableResult
    package func write(_ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes { part in
                Patience.persist { Glibc.send(descriptor, part.baseAddress, part.count, CInt(MSG_NOSIGNAL)) }
            }
            if count <= 0 { return false }
            sent += count
        }
        return true
    }

    /// Reads exactly `count` bytes; nil if the connection ends before.
    package func read(_ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var have = 0
        while have < count {
            let got = bytes[have...].withUnsafeMutableBytes { part in
                Patience.persist { recv(descriptor, part.baseAddress, part.count, 0) }
            }
            if got <= 0 { return nil }
            have += got
        }
        return bytes
    }

    /// Reads until the peer closes the connection; returns false if it does not.
    package func readToEnd() -> Bool {
        var bytes = [UInt8](repeating: 0, count: 4096)
        while true {
            let got = Patience.persist { recv(descriptor, &bytes, bytes.count, 0) }
            if got == 0 { return true }
            if got < 0 { return errno == ECONNRESET }
        }
    }

    // MARK: The part of ZMTP 3.0 that is needed to send frames without a library (ZeroMQ RFC 23, NULL mechanism)

    package static var greeting: [UInt8] {
        [0xff] + [UInt8](repeating: 0, count: 8) + [0x7f, 3, 0] + Array("NULL".utf8)
            + [UInt8](repeating: 0, count: 16 + 1 + 31)
    }

    package static func ready(as kind: String) -> [UInt8] {
        let body = [5] + Array("READY".utf8) + [11] + Array("Socket-Type".utf8) + [0, 0, 0, UInt8(kind.utf8.count)]
        let full = body + Array(kind.utf8)
        return [4, UInt8(full.count)] + full
    }

    package static func ready(as kind: String, routingID: [UInt8]) -> [UInt8] {
        func property(_ name: String, value: [UInt8]) -> [UInt8] {
            [UInt8(name.utf8.count)] + Array(name.utf8) + length(value.count, bytes: 4) + value
        }
        let body =
            [5] + Array("READY".utf8) + property("Socket-Type", value: Array(kind.utf8))
            + property("Identity", value: routingID)
        return [6] + length(body.count, bytes: 8) + body
    }

    private static func length(_ count: Int, bytes: Int) -> [UInt8] {
        (0..<bytes).reversed().map { UInt8(truncatingIfNeeded: count >> (8 * $0)) }
    }

    package static func frame(_ bytes: [UInt8], more: Bool) -> [UInt8] {
        [more ? 1 : 0, UInt8(bytes.count)] + bytes
    }
}
