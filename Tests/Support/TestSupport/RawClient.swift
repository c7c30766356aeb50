import Glibc

/// A client that sends arbitrary bytes. Its calls block, but not beyond their ``Patience``.
package final class RawClient {
    package struct Answer: Equatable, Sendable {
        package var status = 0
        package var head = ""
        package var body: [UInt8] = []

        package var text: String { String(decoding: body, as: UTF8.self) }

        package func header(_ name: String) -> String? {
            for line in head.split(separator: "\r\n").dropFirst() {
                let parts = line.split(separator: ":", maxSplits: 1)
                if parts[0].lowercased() == name.lowercased() {
                    return parts.count == 2 ? String(parts[1].drop { $0 == " " }) : ""
                }
            }
            return nil
        }
    }

    package struct Failure: Error {
        package let what: String

        package init(what: String) {
            self.what = what
        }
    }

    private let descriptor: CInt
    private var received: [UInt8] = []
    private var isClosed = false

    package init(port: UInt16, receiveBuffer: CInt? = nil) throws {
        descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        setUp(receiveBuffer)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        try connect(to: &address, size: MemoryLayout<sockaddr_in>.size)
    }

    package init(unixSocket path: String) throws {
        descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        setUp(nil)
        var address = Self.address(of: path)
        try connect(to: &address, size: MemoryLayout<sockaddr_un>.size)
    }

    /// Connects without waiting; nil if the accept queue of the socket is full.
    package init?(unixSocketAtOnce path: String) {
        descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = Self.address(of: path)
        guard (try? connect(to: &address, size: MemoryLayout<sockaddr_un>.size, isPatient: false)) != nil else {
            return nil
        }
    }

    private static func address(of path: String) -> sockaddr_un {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        return address
    }

    package init(port6 port: UInt16) throws {
        descriptor = socket(AF_INET6, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        setUp(nil)
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_port = port.bigEndian
        address.sin6_addr = in6addr_loopback
        try connect(to: &address, size: MemoryLayout<sockaddr_in6>.size)
    }

    deinit {
        close()
    }

    private func setUp(_ receiveBuffer: CInt?) {
        // Send data immediately, without Nagle's algorithm.
        var on: CInt = 1
        setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<CInt>.size))
        if var receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, socklen_t(MemoryLayout<CInt>.size))
        }
    }

    private func connect<Address>(to address: inout Address, size: Int, isPatient: Bool = true) throws {
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                let call = { Int(Glibc.connect(self.descriptor, address, socklen_t(size))) }
                return isPatient ? Patience.persist(call) : call()
            }
        }
        guard result == 0 else { throw Failure(what: Patience.fault("connect")) }
        // A timeout that was set before would also be one of the connect.
        if isPatient { Patience.prepare(descriptor) }
    }

    package func close() {
        guard !isClosed else { return }
        isClosed = true
        Glibc.close(descriptor)
    }

    /// Closes the sending direction; the client can still receive.
    package func endSending() {
        shutdown(descriptor, CInt(SHUT_WR))
    }

    /// Closes the connection with a reset instead of a graceful close.
    package func reset() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        close()
    }

    package func send(_ text: String) throws {
        try send(Array(text.utf8))
    }

    package func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes { bytes in
                Patience.persist { Glibc.send(descriptor, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL)) }
            }
            guard count > 0 else { throw Failure(what: Patience.fault("send")) }
            sent += count
        }
    }

    /// Sends bytes until the server closes the connection; errors are ignored.
    package func sendUntilClosed(_ bytes: [UInt8]) {
        try? send(bytes)
    }

    /// Receives bytes; returns false at the end of the connection.
    private func receive() throws -> Bool {
        var buffer = [UInt8](repeating: 0, count: 65536)
        let count = Patience.persist { recv(descriptor, &buffer, buffer.count, 0) }
        guard count >= 0 else { throw Failure(what: Patience.fault("receive")) }
        received += buffer[..<count]
        return count > 0
    }

    package func receive(atLeast count: Int) throws -> Int {
        while received.count < count, try receive() {}
        return received.count
    }

    /// Returns the bytes that arrive next.
    package func some() throws -> [UInt8] {
        if received.isEmpty, try !receive() { throw Failure(what: "the connection ended") }
        defer { received = [] }
        return received
    }

    private func line() throws -> String {
        while true {
            if let end = received.indices.first(where: {
                received[$0] == 0x0a && $0 > 0 && received[$0 - 1] == 0x0d
            }) {
                let line = String(decoding: received[..<(end - 1)], as: UTF8.self)
                received.removeSubrange(...end)
                return line
            }
            guard try receive() else { throw Failure(what: "the connection ended within a line: \(received)") }
        }
    }

    private func take(_ count: Int) throws -> [UInt8] {
        guard try receive(atLeast: count) >= count else { throw Failure(what: "the connection ended within a body") }
        defer { received.removeSubrange(..<count) }
        return Array(received[..<count])
    }

    /// Reads one answer according to its own framing.
    package func answer(toHead: Bool = false) throws -> Answer {
        var answer = Answer()
        while true {
            let line = try line()
            if line.isEmpty { break }
            answer.head += line + "\r\n"
        }
        let parts = answer.head.split(separator: " ", maxSplits: 2)
        answer.status = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
        if toHead || answer.status == 204 || answer.status == 304 || answer.status == 100 { return answer }
        if answer.header("Transfer-Encoding") == "chunked" {
            while true {
                guard let size = Int(try line(), radix: 16) else { throw Failure(what: "not a chunk size") }
                answer.body += try take(size)
                guard try line().isEmpty else { throw Failure(what: "a chunk without its end") }
                if size == 0 { return answer }
            }
        }
        if let length = answer.header("Content-Length").flatMap({ Int($0) }) {
            answer.body = try take(length)
        } else {
            answer.body = try rest()
        }
        return answer
    }

    /// Returns all bytes up to the end of the connection.
    package func rest() throws -> [UInt8] {
        while try receive() {}
        defer { received = [] }
        return received
    }

    /// Whether nothing can be read now, not even the end.
    package var isQuiet: Bool {
        var byte: UInt8 = 0
        return received.isEmpty && recv(descriptor, &byte, 1, CInt(MSG_PEEK | MSG_DONTWAIT)) < 0
    }

    /// Returns true if nothing more arrives and the server closes gracefully.
    package func isAtEnd() throws -> Bool {
        try rest().isEmpty
    }
}
