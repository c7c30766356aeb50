import Glibc
import PushLoop

/// The end of a service manager: a datagram socket on which it receives reports.
package final class NotifyPeer: Sendable {
    package let name: String
    private let descriptor: CInt
    private static let pool = BlockingPool(name: "notify", threadCount: 4, queueLimit: 64)

    /// Binds a path, or with `@` a name in the abstract namespace.
    package init(_ name: String) throws {
        self.name = name
        descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var bytes = Array(name.utf8)
        if bytes.first == UInt8(ascii: "@") { bytes[0] = 0 } else { bytes.append(0) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(2 + bytes.count)
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
        }
        guard result == 0 else { throw ChildProcess.NotStarted(description: "cannot bind \(name)") }
    }

    deinit {
        close(descriptor)
    }

    /// Returns the lines of the next report; nil if there is none now.
    package func report() -> [String]? { receive(CInt(MSG_DONTWAIT)) }

    /// Waits for the next report, and returns its lines.
    package func next() async throws -> [String] {
        try await Self.pool.run { [self] in receive(0) } ?? []
    }

    private func receive(_ flags: CInt) -> [String]? {
        var bytes = [UInt8](repeating: 0, count: 4096)
        var count = 0
        repeat { count = recv(descriptor, &bytes, bytes.count, flags) } while count < 0 && errno == EINTR
        if count < 0 { return nil }
        return String(decoding: bytes[..<count], as: UTF8.self).split(separator: "\n").map(String.init)
    }
}
