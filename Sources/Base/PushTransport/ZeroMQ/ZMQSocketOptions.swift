private import CZeroMQ
package import Glibc
package import PushLoop

/// The options of a socket. libzmq reads most of them when it binds or connects, so they are fixed at creation.
package struct ZMQSocketOptions: Sendable {
    /// The number of messages queued for one peer before sending to it would block (PUB and ROUTER may drop instead).
    /// libzmq treats it as approximate, and the kernel's buffers add to it.
    package var sendHighWaterMark = 1000
    /// The number of messages queued from one peer before libzmq stops reading from it.
    package var receiveHighWaterMark = 1000
    /// The time for which a closed socket still sends queued messages. It is finite, because otherwise the end of the
    /// context could wait forever.
    package var linger = Duration.seconds(1)
    /// Whether to queue only for peers with an established connection (ZMQ_IMMEDIATE). Otherwise a connecting socket
    /// queues messages for a peer that may never exist.
    package var onlyToConnected = false
    /// ROUTER: Whether to report `unreachable` for an unknown routing id and `wouldBlock` for a full queue, instead of
    /// dropping.
    package var routerMandatory = true
    /// ROUTER: Whether a new connection takes over an existing routing id. Clients with a fixed id need this to return
    /// after a connection was lost silently; but then any client can take any id.
    package var routerHandover = false
    /// The maximum size of one frame. A peer that sends a larger one is disconnected. Nil means no limit.
    package var maxFrameSize: Int? = 16 * 1024 * 1024
    /// The time after which a connection without a complete handshake is closed. A client may have written messages by
    /// then, which it does not repeat by itself, so that the time covers several retransmissions and a slow machine.
    package var handshakeTimeout = Duration.seconds(10)
    /// TCP: The time of silence after which the kernel probes a connection, every `keepAliveInterval`. It is closed
    /// after `keepAliveProbes` unanswered probes.
    ///
    /// The kernel's probes replace ZeroMQ's own heartbeats, which no socket of this program sends. libzmq 4.3 aborts
    /// the process (`Assertion failed: !_io_error`, its issues 3937 and 4364) if the peer resets a connection with a
    /// full queue and a heartbeat then becomes due.
    package var keepAliveIdle = Duration.seconds(10)
    package var keepAliveInterval = Duration.seconds(5)
    package var keepAliveProbes = 4
    /// TCP: The time after which a connection is closed if its peer acknowledges none of the sent data, because the
    /// peer has vanished or does not read.
    package var unacknowledgedTimeout = Duration.seconds(30)
    /// TCP, for bound sockets: Whether resets by a peer are ignored. The connection then ends by `keepAliveIdle` and
    /// the probes.
    ///
    /// libzmq 4.3 also aborts the process, as above, if a connection was reset while its queue was full and the data
    /// that libzmq reads once there is room contains a heartbeat of the peer. With this option, only a connection that
    /// has been stopped for half a minute ends in this way. Use it for sockets that are bound, are read without long
    /// pauses, and have a bounded `receiveHighWaterMark`. With a mark of 0, input never stops, and the option is not
    /// needed.
    package var ignoresResets = false
    package var reconnectInterval = Duration.milliseconds(100)
    /// The maximum interval; the interval doubles up to it.
    package var maxReconnectInterval = Duration.seconds(30)
    /// The number of connections that wait to be accepted. The kernel delays further ones, which then retry.
    package var backlog = 128
    /// DEALER, REQ: The id by which a ROUTER identifies this socket, 1 to 255 bytes that do not start with zero. With
    /// nil, libzmq generates one for each connection.
    package var routingID: [UInt8]?
    package var usesIPv6 = false
    /// The permissions of the file of a bound `ipc://` endpoint, regardless of the umask. Users who may write to the
    /// file may connect.
    package var ipcMode: mode_t = 0o600
    package var security = ZMQSecurity.none
    /// What the messages of the socket are, for the report of a trap.
    package var work: WorkNote?
    /// What a socket delivers per turn, before others on its loop get their turn.
    package var turn = ZMQTurnLimits()

    package init() {}
}

/// The encryption and authentication of a socket.
package enum ZMQSecurity: Sendable {
    /// No security, for connecting sockets.
    case none
    /// No keys, for bound sockets: any client that reaches the socket and speaks ZMTP 3 is accepted. The context still
    /// needs a ``ZAPHandler``: only with a ZAP domain does libzmq refuse ZMTP 1 and 2, in which the bytes of an HTTP
    /// request can be a message.
    case open
    /// A CURVE server. Clients need `CurveKeyPair.publicKey` of this secret key, and a public key that the
    /// ``ZAPHandler`` knows. Without a handler in the context, no client is accepted. The handler receives the domain.
    case curveServer(secretKey: CurveSecretKey, domain: String)
    case curveClient(keys: CurveKeyPair, serverKey: CurvePublicKey)
}

extension ZMQSecurity {
    /// The ZAP domain of `open`.
    static let openDomain = "open"

    /// The ZAP domain of a bound socket.
    var domain: String {
        switch self {
        case .none, .curveClient: ""
        case .open: Self.openDomain
        case .curveServer(_, let domain): domain
        }
    }

    /// The security of a bound socket. It always includes a ZAP domain.
    package var ofServer: ZMQSecurity {
        if case .none = self { .open } else { self }
    }

    /// The number of bytes that encryption adds to a frame on the wire, besides the header. With CURVE, the frame is
    /// the body of a command: the name with its length (8), a nonce (8), the authentication code (16), and flags (1).
    var frameOverhead: Int {
        switch self {
        case .none, .open: 0
        case .curveServer, .curveClient: 33
        }
    }
}

extension ZMQSocketOptions {
    /// Sets all options on a new socket.
    func apply(to socket: UnsafeMutableRawPointer, kind: ZMQSocket.Kind) throws(ZMQError) {
        let options = unsafe OptionWriter(socket: socket)
        try options.set(ZMQ_SNDHWM, named: "sendHighWaterMark", to: sendHighWaterMark)
        try options.set(ZMQ_RCVHWM, named: "receiveHighWaterMark", to: receiveHighWaterMark)
        try options.set(ZMQ_LINGER, named: "linger", to: linger)
        try options.set(ZMQ_IMMEDIATE, named: "onlyToConnected", to: onlyToConnected ? 1 : 0)
        if kind == .router {
            try options.set(ZMQ_ROUTER_MANDATORY, named: "routerMandatory", to: routerMandatory ? 1 : 0)
            try options.set(ZMQ_ROUTER_HANDOVER, named: "routerHandover", to: routerHandover ? 1 : 0)
        }
        try options.set64(ZMQ_MAXMSGSIZE, named: "maxFrameSize", to: Int64(maxFrameSize ?? -1))
        try options.set(ZMQ_HANDSHAKE_IVL, named: "handshakeTimeout", to: handshakeTimeout)
        try options.set(ZMQ_HEARTBEAT_IVL, named: "heartbeat interval", to: 0)
        try options.set(ZMQ_TCP_KEEPALIVE, named: "keepAliveIdle", to: 1)
        try options.set(ZMQ_TCP_KEEPALIVE_IDLE, named: "keepAliveIdle", seconds: keepAliveIdle)
        try options.set(ZMQ_TCP_KEEPALIVE_INTVL, named: "keepAliveInterval", seconds: keepAliveInterval)
        try options.set(ZMQ_TCP_KEEPALIVE_CNT, named: "keepAliveProbes", to: keepAliveProbes)
        try options.set(ZMQ_TCP_MAXRT, named: "unacknowledgedTimeout", to: unacknowledgedTimeout)
        try options.set(ZMQ_RECONNECT_IVL, named: "reconnectInterval", to: reconnectInterval)
        try options.set(ZMQ_RECONNECT_IVL_MAX, named: "maxReconnectInterval", to: maxReconnectInterval)
        try options.set(ZMQ_BACKLOG, named: "backlog", to: backlog)
        try options.set(ZMQ_IPV6, named: "usesIPv6", to: usesIPv6 ? 1 : 0)
        if let routingID {
            guard (1...255).contains(routingID.count), routingID[0] != 0 else {
                throw ZMQError(
                    .invalidOption, message: "routingID: 1 to 255 bytes are allowed, and the first must not be zero")
            }
            try options.set(ZMQ_ROUTING_ID, named: "routingID", to: routingID)
        }
        guard turn.messages > 0, turn.bytes > 0, turn.lines > 0 else {
            throw ZMQError(.invalidOption, message: "turn: the limits must be above zero")
        }
        try apply(security, to: options)
    }

    private func apply(_ security: ZMQSecurity, to options: OptionWriter) throws(ZMQError) {
        switch security {
        case .none:
            return
        case .open:
            try options.set(ZMQ_ZAP_DOMAIN, named: "security", to: [UInt8](ZMQSecurity.openDomain.utf8))
            try options.set(ZMQ_ZAP_ENFORCE_DOMAIN, named: "security", to: 1)
        case .curveServer(let secretKey, let domain):
            guard (1...255).contains(domain.utf8.count) else {
                throw ZMQError(.invalidOption, message: "security: the domain needs 1 to 255 bytes")
            }
            try options.set(ZMQ_CURVE_SERVER, named: "security", to: 1)
            try options.set(ZMQ_CURVE_SECRETKEY, named: "security", to: secretKey)
            // Without these two, libzmq accepts every key if there is no handler.
            try options.set(ZMQ_ZAP_DOMAIN, named: "security", to: [UInt8](domain.utf8))
            try options.set(ZMQ_ZAP_ENFORCE_DOMAIN, named: "security", to: 1)
        case .curveClient(let keys, let serverKey):
            try options.set(ZMQ_CURVE_SERVERKEY, named: "security", to: serverKey)
            try options.set(ZMQ_CURVE_PUBLICKEY, named: "security", to: keys.publicKey)
            try options.set(ZMQ_CURVE_SECRETKEY, named: "security", to: keys.secretKey)
        }
    }
}

/// A writer of the options of one socket. Errors contain the name of the option, but not secret values.
@safe
private struct OptionWriter {
    let socket: UnsafeMutableRawPointer

    func set(_ option: CInt, named name: StaticString, to value: Int) throws(ZMQError) {
        guard var number = CInt(exactly: value), number >= 0 else {
            throw ZMQError(.invalidOption, message: "\(name): \(value) is out of range")
        }
        guard unsafe zmq_setsockopt(socket, option, &number, MemoryLayout<CInt>.size) == 0 else {
            throw .last("set \(name) to \(value)")
        }
    }

    func set64(_ option: CInt, named name: StaticString, to value: Int64) throws(ZMQError) {
        var number = value
        guard unsafe zmq_setsockopt(socket, option, &number, MemoryLayout<Int64>.size) == 0 else {
            throw .last("set \(name) to \(value)")
        }
    }

    func set(_ option: CInt, named name: StaticString, to duration: Duration) throws(ZMQError) {
        let (seconds, attoseconds) = duration.components
        let (milliseconds, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        guard !overflow, milliseconds < Int64(CInt.max) else {
            throw ZMQError(.invalidOption, message: "\(name): \(duration) is out of range")
        }
        try set(option, named: name, to: Int(milliseconds + attoseconds / 1_000_000_000_000_000))
    }

    /// Sets an option that counts in whole seconds.
    func set(_ option: CInt, named name: StaticString, seconds duration: Duration) throws(ZMQError) {
        let (seconds, attoseconds) = duration.components
        guard seconds >= 1, attoseconds == 0, let number = Int(exactly: seconds) else {
            throw ZMQError(.invalidOption, message: "\(name): \(duration) is not a whole number of seconds above zero")
        }
        try set(option, named: name, to: number)
    }

    func set(_ option: CInt, named name: StaticString, to bytes: [UInt8]) throws(ZMQError) {
        guard unsafe zmq_setsockopt(socket, option, bytes, bytes.count) == 0 else { throw .last("set \(name)") }
    }

    func set(_ option: CInt, named name: StaticString, to key: CurvePublicKey) throws(ZMQError) {
        let result = unsafe key.withBytes { unsafe zmq_setsockopt(socket, option, $0.baseAddress, $0.count) }
        guard result == 0 else { throw .last("set \(name)") }
    }

    func set(_ option: CInt, named name: StaticString, to key: CurveSecretKey) throws(ZMQError) {
        let result = unsafe key.withBytes { unsafe zmq_setsockopt(socket, option, $0.baseAddress, $0.count) }
        guard result == 0 else { throw .last("set \(name)") }
    }
}
