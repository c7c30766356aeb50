import PushLoop
import PushTransport

/// The maximum numbers of incoming connections, chosen so that all together never use the last descriptor.
///
/// Without free descriptors libzmq retries to accept in a busy loop, and neither health checks nor connections to the
/// push service work.
struct ConnectionLimits: Sendable, Equatable {
    let intake: Int
    let events: Int
    let http: Int

    /// Computes the limits.
    ///
    /// - Parameter descriptors: the limit of the process. 128 of them are reserved, half of the rest is for ZeroMQ, and
    ///   an eighth of all is for HTTP. The remainder is for files, for connections to push services, and for
    ///   connections that libzmq accepts before they are counted.
    init(descriptors: UInt64) {
        let all = Int(clamping: descriptors)
        let zeromq = min(max((all - 128) / 2, 24), 6144)
        intake = zeromq * 2 / 3
        events = zeromq - intake
        http = min(max(all / 8, 16), 256)
    }

    /// Logs an event of the sockets' guard. `socket` is "intake" or "events".
    static func report(_ news: ZMQDoor.Event, of socket: String, to log: Logger) {
        switch news {
        case .gate(let gate) where gate.isClosed:
            log.warning(
                """
                too many ZeroMQ connections: new ones are not accepted until some end; find out which clients connect, or \
                raise the limit of open files (ulimit -n)
                """,
                [.socket: socket, .connections: gate.open, .maximum: gate.maxOpen])
        case .gate(let gate):
            log.notice("new ZeroMQ connections are accepted again", [.socket: socket, .connections: gate.open])
        case .endedStuck(let count):
            log.warning(
                """
                all connections of a ZeroMQ socket closed, because dead ones occupied descriptors; clients reconnect. \
                Clients with the same routing id cause this: give each its own, or none
                """,
                [.socket: socket, .connections: count])
        case .endedHoarder(let address):
            log.warning(
                """
                ZeroMQ connection closed: it occupied memory with an incomplete message, or with data that could not be \
                read in time
                """,
                [.socket: socket, .address: address])
        case .cannotBind(let error):
            log.error(
                "cannot bind a ZeroMQ socket again, no client can connect until a retry succeeds",
                [.socket: socket, .error: "\(error)"])
        }
    }
}
