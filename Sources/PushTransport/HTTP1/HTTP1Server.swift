private import CEvent
import Glibc
package import PushLoop

/// An HTTP/1.1 server on a loop, with any number of listening sockets and one handler.
///
/// The server and all its objects are confined to the loop. It must be drained or closed, and must have called
/// `whenDone`, before it or its loop is released.
///
/// - Important: The server makes the whole process ignore SIGPIPE. Some writes of libevent and OpenSSL would otherwise
///   end the process after a client has disconnected.
@safe
package final class HTTP1Server: TickEndFlushing {
    package typealias Handler = (HTTP1Request, HTTP1Responder) -> Void

    package struct Counts: Equatable, Sendable {
        /// The number of open connections that are served.
        package var open = 0
        /// The number of open connections that are only answered with 503.
        package var refusing = 0
        package var accepted = 0
        package var requests = 0
        /// The number of connections without a request that were closed to make room for others.
        package var evicted = 0
        /// The number of failed accepts. The usual cause is a lack of descriptors.
        package var failedAccepts = 0
    }

    private enum State {
        case running
        /// No new connections are accepted, and requests in progress are finished. Can transition to: closed.
        case draining
        case closed
    }

    @safe
    private struct Binding {
        let socket: OpaquePointer
        let file: SocketFile?
    }

    let loop: EventLoop
    let limits: HTTP1Limits
    /// The TLS context of future connections. Whether the server uses TLS at all is fixed: a port does not change its
    /// protocol.
    package var tls: TLSContext? {
        didSet { precondition((tls == nil) == (oldValue == nil), "an HTTP/1.1 server cannot switch TLS on or off") }
    }
    /// The handler. It is nil after the close, because it may retain a responder and thereby this server.
    private var handler: Handler?
    private var http: OpaquePointer?
    private var bindings: [Binding] = []
    private var connections: [ObjectIdentifier: HTTP1Connection] = [:]
    private var state = State.running
    private var acceptsPaused = false
    private var drainTimer: TimerID?
    private var pauseTimer: TimerID?
    private var isScheduled = false
    private var whenDone: [() -> Void] = []
    package private(set) var counts = Counts()

    /// A counter that numbers the waits for requests, so that the longest wait can be found.
    private var turn: UInt64 = 0

    /// The connection whose errand evhttp is parsing at this moment.
    var releasing: HTTP1Connection?

    /// Creates a server. On the loop. The handler is called on the loop, once per request, and may answer later.
    ///
    /// - Parameter tls: The context of a TLS server, for all sockets of this server. Nil serves plaintext. Its ALPN
    ///   protocols should be `http/1.1` or none.
    package init(
        on loop: EventLoop, limits: HTTP1Limits = HTTP1Limits(), tls: TLSContext? = nil, handler: @escaping Handler
    ) {
        self.loop = loop
        self.limits = limits
        self.tls = tls
        self.handler = handler
        Self.ignoresBrokenPipes
        guard let http = unsafe evhttp_new(loop.eventBase) else { fatalError("HTTP/1.1 server: out of memory") }
        unsafe self.http = http
        let this = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe evhttp_set_default_content_type(http, nil)
        unsafe evhttp_set_gencb(
            http,
            { request, this in
                guard let request = unsafe request else { return }
                unsafe HTTP1Server.from(this).releasing?.errandArrived(request)
            }, this)
        unsafe evhttp_set_bevcb(http, { _, this in unsafe HTTP1Server.from(this).accept() }, this)
    }

    deinit {
        precondition(unsafe http == nil, "an HTTP/1.1 server must be drained or closed before it is released")
    }

    private static let ignoresBrokenPipes: Void = { _ = signal(SIGPIPE, SIG_IGN) }()

    // MARK: Listening

    /// Listens on an IP address or `localhost`; port 0 selects a free port. Returns the port.
    @discardableResult
    package func listen(host: String, port: UInt16) throws(HTTP1Error) -> UInt16 {
        try add { () throws(HTTP1Error) in try HTTP1Listener(host: host, port: port) }
    }

    /// Listens on a Unix socket that only this user can access. A stale socket file of an earlier process is replaced.
    package func listen(unixSocket path: String) throws(HTTP1Error) {
        _ = try add { () throws(HTTP1Error) in try HTTP1Listener(unixSocket: path) }
    }

    private func add(_ make: () throws(HTTP1Error) -> HTTP1Listener) throws(HTTP1Error) -> UInt16 {
        loop.assertOnLoop()
        guard case .running = state else {
            throw HTTP1Error(.closed, message: "HTTP cannot listen: the server is closing")
        }
        let listener = try make()
        let flags = UInt32(LEV_OPT_CLOSE_ON_FREE) | UInt32(LEV_OPT_CLOSE_ON_EXEC)
        guard
            let accepting = unsafe evconnlistener_new(
                loop.eventBase, nil, nil, flags, 0, listener.descriptor),
            let socket = unsafe evhttp_bind_listener(http, accepting)
        else { fatalError("HTTP/1.1 server: out of memory") }
        // The second argument of the callback is the accept context, which belongs to evhttp. So the server is looked
        // up by the listener.
        Self.servers.withLock { $0[UInt(bitPattern: accepting)] = Unowned(self) }
        unsafe evconnlistener_set_error_cb(
            accepting,
            { listener, _ in
                HTTP1Server.servers.withLock { $0[UInt(bitPattern: listener)] }?.server.acceptFailed()
            })
        bindings.append(unsafe Binding(socket: socket, file: listener.file))
        return listener.port
    }

    // MARK: Connections

    /// Called by evhttp, which has accepted a connection and needs its bufferevent. Never returns nil, because evhttp
    /// would then create a plain one.
    private func accept() -> OpaquePointer {
        let tls = self.tls.map { HTTP1TLS($0) }
        guard let buffer = unsafe newBuffer(tls) else { fatalError("HTTP/1.1 server: out of memory") }
        counts.accepted += 1
        let isFull = counts.open >= limits.connections && !makeRoom()
        isFull ? (counts.refusing += 1) : (counts.open += 1)
        let connection = unsafe HTTP1Connection(buffer, tls: tls, admission: isFull ? .refused : .served, on: self)
        connections[ObjectIdentifier(connection)] = connection
        if counts.open + counts.refusing >= limits.connections + limits.refusedConnections {
            pauseAccepting(true)
        }
        return unsafe buffer
    }

    /// Evicts the connection that has waited longest for a request or for the rest of one. Clients that connect and
    /// stay silent must not lock out others. Returns false if all connections are being answered.
    private func makeRoom() -> Bool {
        let waiting = connections.values.filter(\.canBeEvicted)
        guard let longest = waiting.min(by: { $0.waitsSince < $1.waitsSince }) else { return false }
        counts.evicted += 1
        longest.evict()
        return true
    }

    func nextTurn() -> UInt64 {
        turn += 1
        return turn
    }

    private func newBuffer(_ tls: HTTP1TLS?) -> OpaquePointer? {
        let options = CInt(BEV_OPT_CLOSE_ON_FREE.rawValue)
        guard let tls else { return unsafe bufferevent_socket_new(loop.eventBase, -1, options) }
        return unsafe bufferevent_openssl_socket_new(
            loop.eventBase, -1, tls.pointer, BUFFEREVENT_SSL_ACCEPTING, options)
    }

    /// Pauses accepting for a moment. The usual cause is a lack of descriptors, which the listener would report on
    /// every turn of the loop.
    private func acceptFailed() {
        counts.failedAccepts += 1
        pauseAccepting(true)
        guard pauseTimer == nil else { return }
        pauseTimer = loop.schedule(after: .milliseconds(100)) { [unowned self] in
            pauseTimer = nil
            pauseAccepting(false)
        }
    }

    private func pauseAccepting(_ pause: Bool) {
        guard pause != acceptsPaused else { return }
        acceptsPaused = pause
        for binding in bindings {
            let listener = unsafe evhttp_bound_socket_get_listener(binding.socket)
            unsafe _ = pause ? evconnlistener_disable(listener) : evconnlistener_enable(listener)
        }
    }

    func handle(_ request: HTTP1Request, with responder: HTTP1Responder) {
        counts.requests += 1
        handler?(request, responder)
    }

    /// Removes a connection that has closed.
    func remove(_ connection: HTTP1Connection) {
        guard connections.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return }
        connection.wasServed ? (counts.open -= 1) : (counts.refusing -= 1)
        if pauseTimer == nil {
            pauseAccepting(false)
        }
        schedule()
    }

    // MARK: Shutdown

    var isDraining: Bool {
        if case .running = state { false } else { true }
    }

    /// Stops accepting, closes idle connections, lets requests in progress be answered, and closes each connection
    /// after its answer. Connections that are left after `deadline` are aborted. On the loop; `whenDone` runs on it.
    package func drain(within deadline: Duration? = nil, whenDone: @escaping () -> Void) {
        loop.assertOnLoop()
        self.whenDone.append(whenDone)
        schedule()
        guard case .running = state else { return }
        state = .draining
        stopListening()
        for connection in Array(connections.values) {
            connection.closeIfIdle()
        }
        guard let deadline, !connections.isEmpty else { return }
        drainTimer = loop.schedule(after: deadline) { [unowned self] in
            drainTimer = nil
            closeConnections()
        }
    }

    /// Stops at once. Unanswered requests get no answer.
    package func close(whenDone: @escaping () -> Void) {
        loop.assertOnLoop()
        self.whenDone.append(whenDone)
        schedule()
        if case .running = state { stopListening() }
        if case .closed = state { return }
        state = .draining
        closeConnections()
    }

    private func closeConnections() {
        for connection in Array(connections.values) {
            connection.abort()
        }
    }

    private func stopListening() {
        for binding in bindings {
            let listener = unsafe evhttp_bound_socket_get_listener(binding.socket)
            Self.servers.withLock { _ = $0.removeValue(forKey: UInt(bitPattern: listener)) }
            unsafe evhttp_del_accept_socket(http, binding.socket)
            binding.file?.remove()
        }
        bindings = []
        if let timer = pauseTimer.take() { loop.cancel(timer) }
    }

    private func schedule() {
        guard !isScheduled else { return }
        isScheduled = true
        loop.flushAtTickEnd(self)
    }

    package func flushAtTickEnd() {
        isScheduled = false
        guard isDraining, connections.isEmpty else { return }
        if let timer = drainTimer.take() { loop.cancel(timer) }
        if let http = unsafe http.take() { unsafe evhttp_free(http) }
        state = .closed
        handler = nil
        let done = whenDone
        whenDone = []
        for notify in done { notify() }
    }

    /// The servers by the addresses of their listeners, for error callbacks of libevent. Accessed on the servers'
    /// loops.
    private static let servers = Locked<[UInt: Unowned]>([:])

    @safe
    private struct Unowned: @unchecked Sendable {
        // Unchecked: a server is used only on its own loop, where its listener's callbacks run, and it removes its
        // listeners before it is released.
        unowned let server: HTTP1Server

        init(_ server: HTTP1Server) {
            self.server = server
        }
    }

    private static func from(_ this: UnsafeMutableRawPointer?) -> HTTP1Server {
        unsafe Unmanaged<HTTP1Server>.fromOpaque(this!).takeUnretainedValue()
    }
}
