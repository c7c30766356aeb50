import Glibc
import PushLoop

/// An error of connecting, of a name lookup, or of listening.
package struct TCPError: Error, Sendable, CustomStringConvertible {
    package enum Code: Sendable {
        case badAddress, nameNotFound, refused, unreachable, timedOut, addressInUse, notPermitted, cancelled, other
    }

    package let code: Code
    package let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    init(listening place: HostPort, _ error: SystemError) {
        switch error.number {
        case EADDRINUSE:
            self.init(
                .addressInUse,
                "cannot listen on \(place): address in use, another process listens there; stop it or use another port")
        case EACCES:
            self.init(
                .notPermitted,
                "cannot listen on \(place): permission denied; ports below 1024 need a privilege, choose a higher port")
        case EADDRNOTAVAIL:
            self.init(.badAddress, "cannot listen on \(place): this machine does not have that address")
        default:
            self.init(.other, "cannot listen on \(place): \(error)")
        }
    }

    init(connecting place: String, _ error: SystemError) {
        switch error.number {
        case ECONNREFUSED:
            self.init(.refused, "cannot connect to \(place): connection refused; nothing listens there")
        case ENETUNREACH, EHOSTUNREACH:
            self.init(.unreachable, "cannot connect to \(place): no route to host; check network and firewall")
        case ETIMEDOUT:
            self.init(.timedOut, "cannot connect to \(place): timed out; check network and firewall")
        default:
            self.init(.other, "cannot connect to \(place): \(error)")
        }
    }

    package var description: String { message }
}
