import Glibc
import PushLoop

/// An error of connecting, of a name lookup, or of listening.
package struct TCPError: Error, Sendable, CustomStringConvertible {
    package enum Code: Sendable {
        case badAddress, nameNotFound, refused, unreachable, timedOut, addressInUse, notPermitted, cancelled, other
    }

    package let code: Code
    package let message: String

    init(_ code: Code, message: String) {
        self.code = code
        self.message = message
    }

    init(listening endpoint: HostPort, error: SystemError) {
        switch error.number {
        case EADDRINUSE:
            self.init(
                .addressInUse,
                message: "cannot listen on \(endpoint): address in use, another process listens there; stop it or use "
                    + "another port")
        case EACCES:
            self.init(
                .notPermitted,
                message: "cannot listen on \(endpoint): permission denied; ports below 1024 need a privilege, choose "
                    + "a higher port")
        case EADDRNOTAVAIL:
            self.init(.badAddress, message: "cannot listen on \(endpoint): this machine does not have that address")
        default:
            self.init(.other, message: "cannot listen on \(endpoint): \(error)")
        }
    }

    init(connecting endpoint: String, error: SystemError) {
        switch error.number {
        case ECONNREFUSED:
            self.init(.refused, message: "cannot connect to \(endpoint): connection refused; nothing listens there")
        case ECONNRESET:
            self.init(
                .refused, message: "cannot connect to \(endpoint): connection reset; what listens there refuses it")
        case ENETUNREACH, EHOSTUNREACH:
            self.init(
                .unreachable, message: "cannot connect to \(endpoint): no route to host; check network and firewall")
        case ETIMEDOUT:
            self.init(.timedOut, message: "cannot connect to \(endpoint): timed out; check network and firewall")
        default:
            self.init(.other, message: "cannot connect to \(endpoint): \(error)")
        }
    }

    package var description: String { message }
}
