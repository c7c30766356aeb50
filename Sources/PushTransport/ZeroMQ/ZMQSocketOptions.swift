private import CZeroMQ
package import Glibc

/// What a socket is made with. libzmq looks at most of it when it binds or connects, so it is fixed from the start.
package struct ZMQSocketOptions: Sendable {
    /// Messages queued for one peer before sending to it would block (PUB and ROUTER may drop instead). libzmq takes it
    /// for a rough measure; the kernel's buffers come on top.
    package var sendHighWaterMark = 1000
    /// Messages queued from one peer before it is no longer read from.
    package var receiveHighWaterMark = 1000
    /// How long a closed socket goes on sending what is queued. Finite, or the end of the context could wait for ever.
    package var linger = Duration.seconds(1)
    /// Queue only for peers whose connection stands (ZMQ_IMMEDIATE). Otherwise a connecting socket takes messages for
    /// a peer that may never come.
    package var onlyToConnected = false
    /// ROUTER: say `unreachable` for an unknown routing id, and `wouldBlock` for a full queue, instead of dropping.
    package var routerMandatory = true
    /// ROUTER: a new connection with a routing id takes it over. Clients with a fixed id need it to come back after a
    /// connection died silently; but then any client may take any id.
    package var routerHandover = false
    /// Bytes of one frame. A peer that sends more is disconnected. Nil: no limit.
    package var maxFrameSize: Int? = 16 * 1024 * 1024
    /// A connection that has not finished its handshake by then is closed.
    package var handshakeTimeout = Duration.seconds(2)
    /// TCP: a connection that is silent for this long is probed by the kernel, at `keepAliveInterval`, and closed when
    /// `keepAliveProbes` of them stay unanswered.
    ///
    /// The kernel's probes take the place of ZeroMQ's own heartbeats, which no socket of this program sends. libzmq
    /// 4.3 aborts the process (`Assertion failed: !_io_error`, its issues 3937 and 4364) when a connection whose queue
    /// is full is reset by its peer and a heartbeat then falls due.
    package var keepAliveIdle = Duration.seconds(10)
    package var keepAliveInterval = Duration.seconds(5)
    package var keepAliveProbes = 4
    /// TCP: a connection is closed when its peer takes nothing of what was sent for this long: it has gone without a
    /// word, or it does not read.
    package var unacknowledgedTimeout = Duration.seconds(30)
    /// TCP, for what this socket binds: a reset by a peer is not heard, and its connection ends by `keepAliveIdle` and
    /// what follows it.
    ///
    /// libzmq 4.3 aborts the process, as above, also when a connection was reset while its queue was full, and what it
    /// reads once there is room contains a peer's heartbeat. With this a connection only ends that has been stopped
    /// for half a minute. For sockets that are bound, are read without long pauses, and have a bounded
    /// `receiveHighWaterMark`; with a mark of 0 input is never stopped, and this is not needed.
    package var ignoresResets = false
    package var reconnectInterval = Duration.milliseconds(100)
    /// The interval doubles up to this.
    package var maxReconnectInterval = Duration.seconds(30)
    /// Connections that wait to be accepted. The kernel makes those beyond it wait and try again.
    package var backlog = 128
    /// DEALER, REQ: the id a ROUTER knows this socket by, 1 to 255 bytes that do not begin with a zero. Nil: libzmq
    /// makes one up for each connection.
    package var routingID: [UInt8]?
    package var usesIPv6 = false
    /// The permissions of the file of an `ipc://` endpoint that is bound, whatever the umask: who may write to it may
    /// connect.
    package var ipcMode: mode_t = 0o600
    package var security = ZMQSecurity.none
    /// Messages that a socket delivers in one go before others on its loop get their turn.
    package var messagesPerTick = 1000

    package init() {}
}

/// Whether and how a socket encrypts and authenticates.
package enum ZMQSecurity: Sendable {
    /// For sockets that connect.
    case none
    /// For sockets that are bound: no keys, whoever reaches the socket gets in, if it speaks ZMTP 3. A `ZAPHandler` in
    /// the context is asked all the same: only with a ZAP domain does libzmq refuse ZMTP 1 and 2, in which the bytes of
    /// an HTTP request can be a message.
    case open
    /// Clients need `CurveKeyPair.publicKey` of this secret, and a public key that the `ZAPHandler` knows. Without a
    /// handler in the context nobody gets in. The domain is what the handler is told.
    case curveServer(secretKey: CurveSecretKey, domain: String)
    case curveClient(keys: CurveKeyPair, serverKey: CurvePublicKey)
}

extension ZMQSecurity {
    /// The ZAP domain of `open`.
    static let openDomain = "open"

    /// What a socket that is bound asks of its clients: something in any case.
    package var ofServer: ZMQSecurity {
        if case .none = self { .open } else { self }
    }

    /// Bytes that a frame takes on the wire besides its own and its header. With CURVE it is the body of a command: the
    /// name with its length (8), a nonce (8), the code of authentication (16), and flags (1).
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
        try options.set(ZMQ_SNDHWM, "sendHighWaterMark", sendHighWaterMark)
        try options.set(ZMQ_RCVHWM, "receiveHighWaterMark", receiveHighWaterMark)
        try options.set(ZMQ_LINGER, "linger", linger)
        try options.set(ZMQ_IMMEDIATE, "onlyToConnected", onlyToConnected ? 1 : 0)
        if kind == .router {
            try options.set(ZMQ_ROUTER_MANDATORY, "routerMandatory", routerMandatory ? 1 : 0)
            try options.set(ZMQ_ROUTER_HANDOVER, "routerHandover", routerHandover ? 1 : 0)
        }
        try options.set64(ZMQ_MAXMSGSIZE, "maxFrameSize", Int64(maxFrameSize ?? -1))
        try options.set(ZMQ_HANDSHAKE_IVL, "handshakeTimeout", handshakeTimeout)
        try options.set(ZMQ_HEARTBEAT_IVL, "heartbeat interval", 0)
        try options.set(ZMQ_TCP_KEEPALIVE, "keepAliveIdle", 1)
        try options.set(ZMQ_TCP_KEEPALIVE_IDLE, "keepAliveIdle", seconds: keepAliveIdle)
        try options.set(ZMQ_TCP_KEEPALIVE_INTVL, "keepAliveInterval", seconds: keepAliveInterval)
        try options.set(ZMQ_TCP_KEEPALIVE_CNT, "keepAliveProbes", keepAliveProbes)
        try options.set(ZMQ_TCP_MAXRT, "unacknowledgedTimeout", unacknowledgedTimeout)
        try options.set(ZMQ_RECONNECT_IVL, "reconnectInterval", reconnectInterval)
        try options.set(ZMQ_RECONNECT_IVL_MAX, "maxReconnectInterval", maxReconnectInterval)
        try options.set(ZMQ_BACKLOG, "backlog", backlog)
        try options.set(ZMQ_IPV6, "usesIPv6", usesIPv6 ? 1 : 0)
        if let routingID {
            guard (1...255).contains(routingID.count), routingID[0] != 0 else {
                throw ZMQError(.invalidOption, "routingID: 1 to 255 bytes are allowed, and the first must not be zero")
            }
            try options.set(ZMQ_ROUTING_ID, "routingID", routingID)
        }
        guard messagesPerTick > 0 else { throw ZMQError(.invalidOption, "messagesPerTick: must be above zero") }
        try apply(security, to: options)
    }

    private func apply(_ security: ZMQSecurity, to options: OptionWriter) throws(ZMQError) {
        switch security {
        case .none:
            return
        case .open:
            try options.set(ZMQ_ZAP_DOMAIN, "security", [UInt8](ZMQSecurity.openDomain.utf8))
            try options.set(ZMQ_ZAP_ENFORCE_DOMAIN, "security", 1)
        case .curveServer(let secretKey, let domain):
            guard (1...255).contains(domain.utf8.count) else {
                throw ZMQError(.invalidOption, "security: the domain needs 1 to 255 bytes")
            }
            try options.set(ZMQ_CURVE_SERVER, "security", 1)
            try options.set(ZMQ_CURVE_SECRETKEY, "security", secretKey)
            // Without these two libzmq lets every key in when there is no handler to ask.
            try options.set(ZMQ_ZAP_DOMAIN, "security", [UInt8](domain.utf8))
            try options.set(ZMQ_ZAP_ENFORCE_DOMAIN, "security", 1)
        case .curveClient(let keys, let serverKey):
            try options.set(ZMQ_CURVE_SERVERKEY, "security", serverKey)
            try options.set(ZMQ_CURVE_PUBLICKEY, "security", keys.publicKey)
            try options.set(ZMQ_CURVE_SECRETKEY, "security", keys.secretKey)
        }
    }
}

/// Sets options of one socket; a refused one is named in the error, its value is not.
@safe
private struct OptionWriter {
    let socket: UnsafeMutableRawPointer

    func set(_ option: CInt, _ name: StaticString, _ value: Int) throws(ZMQError) {
        guard var number = CInt(exactly: value), number >= 0 else {
            throw ZMQError(.invalidOption, "\(name): \(value) is out of range")
        }
        guard unsafe zmq_setsockopt(socket, option, &number, MemoryLayout<CInt>.size) == 0 else {
            throw .last("set \(name) to \(value)")
        }
    }

    func set64(_ option: CInt, _ name: StaticString, _ value: Int64) throws(ZMQError) {
        var number = value
        guard unsafe zmq_setsockopt(socket, option, &number, MemoryLayout<Int64>.size) == 0 else {
            throw .last("set \(name) to \(value)")
        }
    }

    func set(_ option: CInt, _ name: StaticString, _ duration: Duration) throws(ZMQError) {
        let (seconds, attoseconds) = duration.components
        let (milliseconds, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        guard !overflow, milliseconds < Int64(CInt.max) else {
            throw ZMQError(.invalidOption, "\(name): \(duration) is out of range")
        }
        try set(option, name, Int(milliseconds + attoseconds / 1_000_000_000_000_000))
    }

    /// For options that count in whole seconds.
    func set(_ option: CInt, _ name: StaticString, seconds duration: Duration) throws(ZMQError) {
        let (seconds, attoseconds) = duration.components
        guard seconds >= 1, attoseconds == 0, let number = Int(exactly: seconds) else {
            throw ZMQError(.invalidOption, "\(name): \(duration) is not a whole number of seconds above zero")
        }
        try set(option, name, number)
    }

    func set(_ option: CInt, _ name: StaticString, _ bytes: [UInt8]) throws(ZMQError) {
        guard unsafe zmq_setsockopt(socket, option, bytes, bytes.count) == 0 else { throw .last("set \(name)") }
    }

    func set(_ option: CInt, _ name: StaticString, _ key: CurvePublicKey) throws(ZMQError) {
        let result = unsafe key.withBytes { unsafe zmq_setsockopt(socket, option, $0.baseAddress, $0.count) }
        guard result == 0 else { throw .last("set \(name)") }
    }

    func set(_ option: CInt, _ name: StaticString, _ key: CurveSecretKey) throws(ZMQError) {
        let result = unsafe key.withBytes { unsafe zmq_setsockopt(socket, option, $0.baseAddress, $0.count) }
        guard result == 0 else { throw .last("set \(name)") }
    }
}
