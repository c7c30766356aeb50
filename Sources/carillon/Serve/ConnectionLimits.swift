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
    static func report(_ gate: ConnectionGate, of socket: String, to log: Logger) {
        if gate.isClosed {
            log.warning(
                """
                too many ZeroMQ connections: no more connections are accepted until some have ended; see who connects, or \
                raise the limit of open files (ulimit -n)
                """,
                [.socket: socket, .connections: gate.open, .maximum: gate.most])
        } else {
            log.notice(
                "new ZeroMQ connections are accepted again", [.socket: socket, .connections: gate.open])
        }
    }
}
