import PushLoop
import PushPipeline
import PushTransport

/// The connections that the ZAP handlers refused. They are counted by socket and cause, and logged with the client's
/// name if its key is known. The log has a rate limit for each call site, so that many lines of one cause do not hide
/// others.
final class RefusedHandshakes: Sendable {
    struct Key: Hashable, Sendable {
        /// The socket; nil if it is unknown because the ZAP request was malformed.
        let socket: PipelineSocket?
        let cause: ZAPRefusalCause
    }

    private struct State {
        var directory: ClientDirectory
        var counts: [Key: UInt64] = [:]
    }

    private let state: Locked<State>
    private let log: Logger

    /// Counts and logs a client that libzmq refused. Called on the loop of the socket.
    func take(_ refusal: ZMQRefusedHandshake) {
        let cause: ZAPRefusalCause =
            switch refusal.cause {
            case .mechanism, .otherServer: .mechanism
            case .malformed, .otherProtocol: .malformed
            }
        let socket = PipelineSocket(rawValue: refusal.domain)
        state.withLock { $0.counts[Key(socket: socket, cause: cause), default: 0] += 1 }
        let fields: LogFields = [
            .socket: refusal.domain, .address: refusal.address ?? "-", .reason: cause.rawValue,
        ]
        switch refusal.cause {
        case .mechanism:
            log.warning(
                """
                connection refused: the client and the socket differ in CURVE; with security.curve, each client needs \
                a key, and without it none may have one
                """, fields)
        case .otherServer:
            log.warning("connection refused: the client has the public key of another server", fields)
        case .malformed: log.warning("connection refused: the handshake of the client is malformed", fields)
        case .otherProtocol:
            log.warning(
                """
                connection refused: the client does not speak ZMTP 3, the protocol of ZeroMQ since version 4; find out \
                which program connects to this port
                """, fields)
        }
    }

    init(_ directory: ClientDirectory, log: Logger) {
        state = Locked(State(directory: directory))
        self.log = log
    }

    var directory: ClientDirectory {
        get { state.withLock { $0.directory } }
        set { state.withLock { $0.directory = newValue } }
    }

    var counts: [Key: UInt64] { state.withLock { $0.counts } }

    /// Counts and logs a refusal. Called on the thread of a handler.
    func take(_ refusal: ZAPHandler.Refusal) {
        let key = Key(socket: PipelineSocket(rawValue: refusal.domain), cause: refusal.cause)
        let client = state.withLock { state in
            state.counts[key, default: 0] += 1
            return refusal.publicKey.flatMap { state.directory.clients[$0] }
        }
        let fields: LogFields = [
            .socket: refusal.domain, .address: refusal.address, .key: refusal.publicKey?.z85 ?? "-",
            .client: client?.name ?? "-", .reason: refusal.cause.rawValue,
        ]
        switch refusal.cause {
        case .unknownKey:
            log.warning("connection refused: no client in security.clients has this public key", fields)
        case .missingRight:
            if key.socket?.isIntake == true {
                log.warning(
                    "connection refused: this client may not push; name its apps in security.clients.NAME.push", fields)
            } else {
                log.warning(
                    "connection refused: this client may not observe; set security.clients.NAME.observe", fields)
            }
        case .mechanism: log.warning("connection refused: the client does not use CURVE", fields)
        case .malformed: log.error("connection refused: malformed ZAP request from libzmq", fields)
        }
    }
}

extension RefusedHandshakes {
    /// Returns a handler of a door's events that also takes the clients that libzmq refused.
    func observing(_ report: @escaping @Sendable (ZMQGuard.Event) -> Void) -> @Sendable (ZMQGuard.Event) -> Void {
        { [self] event in
            if case .refusedHandshake(let refusal) = event { take(refusal) }
            report(event)
        }
    }
}

extension PipelineSocket {
    fileprivate var isIntake: Bool {
        switch self {
        case .router, .pull: true
        case .publish, .replay: false
        }
    }
}
