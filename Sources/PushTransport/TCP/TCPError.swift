import Glibc
import PushLoop

/// A connection that could not be made, or a place that could not be listened on.
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
                "cannot listen on \(place): another process listens there; stop it or choose another port (0 for any)")
        case EACCES:
            self.init(
                .notPermitted,
                "cannot listen on \(place): ports below 1024 need a privilege; choose a higher port")
        case EADDRNOTAVAIL:
            self.init(.badAddress, "cannot listen on \(place): this machine does not have that address")
        default:
            self.init(.other, "cannot listen on \(place): \(error)")
        }
    }

    init(connecting place: String, _ error: SystemError) {
        switch error.number {
        case ECONNREFUSED:
            self.init(.refused, "cannot connect to \(place): nothing listens there, or it refuses connections")
        case ENETUNREACH, EHOSTUNREACH:
            self.init(.unreachable, "cannot connect to \(place): no route there; check network and firewall")
        case ETIMEDOUT:
            self.init(.timedOut, "cannot connect to \(place): no answer; check network and firewall")
        default:
            self.init(.other, "cannot connect to \(place): \(error)")
        }
    }

    package var description: String { message }
}
