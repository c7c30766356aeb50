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

    /// HTTP connections above ``http`` that are only answered with 503.
    let httpRefused: Int

    /// Computes the limits.
    ///
    /// - ZeroMQ has half of the descriptors that exceed 128.
    /// - The process keeps 128, and a quarter of all up to 2,048 more: for files, for connections to push services, for
    ///   the control socket, and for connections that libzmq accepts before they are counted.
    /// - HTTP has the rest, but at least an eighth of all, and at most what the configuration allows.
    ///
    /// - Parameters:
    ///   - descriptors: the limit of the process.
    ///   - wanted: the maximum number of HTTP connections in the configuration.
    init(descriptors: UInt64, http wanted: Int) {
        let all = Int(clamping: descriptors)
        let zeromq = min(max((all - 128) / 2, 24), 6144)
        intake = zeromq * 2 / 3
        events = zeromq - intake
        let own = 128 + min(all / 4, 2048)
        let share = max(all - zeromq - own, all / 8, 16)
        // The connections that are refused come out of the same share, if it is large enough.
        httpRefused = min(64, max(share / 4, 8), wanted)
        http = min(wanted, max(share - httpRefused, all / 8, 16))
    }

    /// Fewer HTTP connections than this are a reason to warn at the start. Where more are left, although not all that are
    /// configured, `carillon doctor` mentions it.
    private static let fewHTTP = 1000

    /// Whether the limit of open files leaves so few HTTP connections that a start must mention it.
    func leavesFewHTTP(of wanted: Int) -> Bool { http < min(wanted, Self.fewHTTP) }

    /// Logs that the limit of open files leaves few HTTP connections, if it does.
    func reportHTTP(wanted: Int, descriptors: UInt64, to log: Logger) {
        guard leavesFewHTTP(of: wanted) else { return }
        log.notice(
            """
            the limit of open files allows fewer HTTP connections than http.connections; raise it (ulimit -n, or \
            LimitNOFILE of systemd) if so many clients connect
            """,
            [.connections: http, .maximum: wanted, .descriptors: Int(clamping: descriptors)])
    }

    /// Logs an event of the sockets' guard. `socket` is "intake" or "events".
    static func report(_ news: ZMQGuard.Event, of socket: String, to log: Logger) {
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
        case .endedHoarding(let address):
            log.warning(
                """
                ZeroMQ connection closed: it occupied memory with an incomplete message, or with data that could not be \
                read in time
                """,
                [.socket: socket, .address: address])
        // ``RefusedHandshakes`` counts and logs them.
        case .refusedHandshake: break
        case .cannotBind(let error):
            log.error(
                "cannot bind a ZeroMQ socket again, no client can connect until a retry succeeds",
                [.socket: socket, .error: "\(error)"])
        }
    }
}
