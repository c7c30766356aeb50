private import CEvent
import Glibc
package import PushLoop

/// An HTTP/1.1 server on a loop: any number of listening sockets, one handler.
///
/// Confined to its loop, as all it hands out is. It must be drained or closed, and have said that it is done, before
/// it or its loop goes.
///
/// - Important: It has SIGPIPE ignored in the whole process: libevent and OpenSSL write to sockets in ways that would
///   end the process when a client has gone.
@safe
package final class HTTP1Server: TickEndFlushing {
    package typealias Handler = (HTTP1Request, HTTP1Responder) -> Void

    package struct Counts: Equatable, Sendable {
        /// Connections that are open and served.
        package var open = 0
        /// Connections that are open only to be told 503.
        package var refusing = 0
        package var accepted = 0
        package var requests = 0
        /// Connections without a request in progress that were closed to make room for others.
        package var evicted = 0
        /// How often the system could not hand over a connection: as a rule, no descriptors were left.
        package var failedAccepts = 0
    }

    private enum State {
        case running
        /// No new connections; requests in progress are finished. Can transition to: closed.
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
    /// Of connections accepted from now on. Whether there is any is for its life: a port does not change its nature.
    package var tls: TLSContext? {
        didSet { precondition((tls == nil) == (oldValue == nil), "an HTTP/1.1 server keeps to TLS or does without") }
    }
    /// Nil once closed: what it holds may hold this server, by a responder it has kept.
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

    /// Counts on with each beginning of a wait for a request, so that the connection that waits longest is known.
    private var turn: UInt64 = 0

    /// Whose errand evhttp is reading at this moment.
    var releasing: HTTP1Connection?

    /// On the loop. The handler is called on it, once a request; it may answer later.
    ///
    /// - Parameter tls: A server's context, for all sockets of this server; nil serves in the clear. Of ALPN protocols
    ///   it should name `http/1.1` or none.
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
        precondition(unsafe http == nil, "an HTTP/1.1 server must be drained or closed before it goes")
    }

    private static let ignoresBrokenPipes: Void = { _ = signal(SIGPIPE, SIG_IGN) }()

    // MARK: Listening

    /// Listens on an IP address, or `localhost`; port 0 takes a free one. Returns the port.
    @discardableResult
    package func listen(host: String, port: UInt16) throws(HTTP1Error) -> UInt16 {
        try add { () throws(HTTP1Error) in try HTTP1Listener(host: host, port: port) }
    }

    /// Listens on a Unix socket that only this user may use. A file left by a process that is gone is replaced.
    package func listen(unixSocket path: String) throws(HTTP1Error) {
        _ = try add { () throws(HTTP1Error) in try HTTP1Listener(unixSocket: path) }
    }

    private func add(_ make: () throws(HTTP1Error) -> HTTP1Listener) throws(HTTP1Error) -> UInt16 {
        loop.assertOnLoop()
        guard case .running = state else {
            throw HTTP1Error(.closed, "HTTP cannot listen: the server is closing")
        }
        let listener = try make()
        let flags = UInt32(LEV_OPT_CLOSE_ON_FREE) | UInt32(LEV_OPT_CLOSE_ON_EXEC)
        guard
            let accepting = unsafe evconnlistener_new(
                loop.eventBase, nil, nil, flags, 0, listener.descriptor),
            let socket = unsafe evhttp_bind_listener(http, accepting)
        else { fatalError("HTTP/1.1 server: out of memory") }
        // The callback's second argument is what the listener was given for its accepting, which is evhttp's own and
        // not this server; so the server is found by the listener.
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

    /// From evhttp, which has accepted a connection and wants its buffers. Never nil: evhttp would make plain ones.
    private func accept() -> OpaquePointer {
        let tls = self.tls.map { HTTP1TLS($0) }
        guard let buffer = unsafe newBuffer(tls) else { fatalError("HTTP/1.1 server: out of memory") }
        counts.accepted += 1
        let isFull = counts.open >= limits.connections && !makeRoom()
        isFull ? (counts.refusing += 1) : (counts.open += 1)
        let connection = unsafe HTTP1Connection(buffer, tls: tls, isFull ? .refused : .served, on: self)
        connections[ObjectIdentifier(connection)] = connection
        if counts.open + counts.refusing >= limits.connections + limits.refusedConnections {
            pauseAccepting(true)
        }
        return unsafe buffer
    }

    /// Has the connection closed that waits longest for a request, or for the rest of one: clients that connect and are
    /// silent must not keep out those that ask. False when all connections are being answered.
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

    /// No descriptors left, as a rule. The listener would report it at every turn; try again a little later.
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

    func handle(_ request: HTTP1Request, _ responder: HTTP1Responder) {
        counts.requests += 1
        handler?(request, responder)
    }

    /// The connection is closed and done with.
    func remove(_ connection: HTTP1Connection) {
        guard connections.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return }
        connection.wasServed ? (counts.open -= 1) : (counts.refusing -= 1)
        if pauseTimer == nil {
            pauseAccepting(false)
        }
        schedule()
    }

    // MARK: The end

    var isDraining: Bool {
        if case .running = state { false } else { true }
    }

    /// Stops accepting, closes connections that are idle, lets requests in progress be answered, and closes each
    /// connection after its answer. What is left after `deadline` is cut. On the loop; `whenDone` runs on it.
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

    /// Stops at once: requests that are not answered yet never will be.
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

    /// By the address of a listener, for libevent's reports of errors. Written and read on the loops of the servers.
    private static let servers = Locked<[UInt: Unowned]>([:])

    @safe
    private struct Unowned: @unchecked Sendable {
        // Unchecked: a server is used on its own loop only, where its listener calls back, and takes its listeners out
        // before it goes.
        unowned let server: HTTP1Server

        init(_ server: HTTP1Server) {
            self.server = server
        }
    }

    private static func from(_ this: UnsafeMutableRawPointer?) -> HTTP1Server {
        unsafe Unmanaged<HTTP1Server>.fromOpaque(this!).takeUnretainedValue()
    }
}
