import PushLoop
import PushTransport

/// How many connections each door of the process may have, so that all together never take the last descriptor: with
/// none left, libzmq tries to accept without a pause, and neither health checks nor the push service can be reached.
struct ConnectionLimits: Sendable, Equatable {
    let intake: Int
    let events: Int
    let http: Int

    /// - Parameter descriptors: the process's limit. Half of what the process does not need for itself is for ZeroMQ,
    ///   an eighth of all for HTTP; the rest is for files, connections to push services, and the moment that the
    ///   counting lags behind.
    init(descriptors: UInt64) {
        let all = Int(clamping: descriptors)
        let zeromq = min(max((all - 128) / 2, 24), 6144)
        intake = zeromq * 2 / 3
        events = zeromq - intake
        http = min(max(all / 8, 16), 256)
    }

    /// For the log: `socket` is "intake" or "events".
    static func report(_ news: ZMQDoor.News, of socket: String, to log: Logger) {
        switch news {
        case .gate(let gate) where gate.isClosed:
            log.warning(
                """
                too many ZeroMQ connections: no more connections are accepted until some have ended; see who connects, or \
                raise the limit of open files (ulimit -n)
                """,
                [.socket: socket, .connections: gate.open, .maximum: gate.most])
        case .gate(let gate):
            log.notice("new ZeroMQ connections are accepted again", [.socket: socket, .connections: gate.open])
        case .endedStuck(let count):
            log.warning(
                """
                closed all connections of a ZeroMQ socket, to get rid of dead ones that took up descriptors; clients \
                connect again. Clients with the same routing id cause it: give each its own, or none
                """,
                [.socket: socket, .connections: count])
        case .endedHoarder(let address):
            log.warning(
                """
                closed a ZeroMQ connection that took up memory: what it sent came to no end, or could not be read in time
                """,
                [.socket: socket, .address: address])
        case .cannotBind(let error):
            log.error(
                "cannot listen again on a ZeroMQ socket, no client can connect until that succeeds",
                [.socket: socket, .error: "\(error)"])
        }
    }
}
