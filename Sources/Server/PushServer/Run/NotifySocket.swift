import Glibc

/// The socket on which a service manager, such as systemd, receives what a service reports about itself.
///
/// `NOTIFY_SOCKET` names it. A report is one datagram with lines `NAME=VALUE`, as in the manual page sd_notify(3).
package final class NotifySocket: Sendable {
    private let descriptor: CInt
    private let address: sockaddr_un
    private let length: socklen_t

    /// Opens a socket that sends to `name`: a path, or a name that begins with `@` in the abstract namespace. Returns
    /// nil for other addresses, and if the address does not fit.
    package init?(_ name: String) {
        var bytes = Array(name.utf8)
        guard let first = bytes.first, bytes.count > 1, !bytes.contains(0) else { return nil }
        switch first {
        case UInt8(ascii: "/"): bytes.append(0)
        case UInt8(ascii: "@"): bytes[0] = 0
        default: return nil
        }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        guard bytes.count <= MemoryLayout.size(ofValue: address.sun_path) else { return nil }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        self.address = address
        length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        if descriptor < 0 { return nil }
    }

    deinit {
        close(descriptor)
    }

    /// Sends one report. Returns false if the service manager does not take it now. It does not block.
    package func send(_ lines: [String]) -> Bool {
        let report = Array(lines.joined(separator: "\n").utf8)
        return withUnsafePointer(to: address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                while true {
                    let sent = sendto(
                        descriptor, report, report.count, CInt(MSG_DONTWAIT | MSG_NOSIGNAL), address,
                        length)
                    if sent >= 0 { return true }
                    if errno != EINTR { return false }
                }
            }
        }
    }
}
