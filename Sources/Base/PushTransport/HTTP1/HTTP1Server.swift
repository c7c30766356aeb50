import Glibc
package import PushLoop

/// An HTTP/1.1 server on a loop, with any number of listening sockets and one handler.
///
/// The server and all its objects are confined to the loop. It must be drained or closed, and must have called
/// `whenDone`, before it or its loop is released.
///
/// - Important: The server makes the whole process ignore SIGPIPE. A write would otherwise end the process after a client has
///   disconnected.
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

    let loop: EventLoop
    let limits: HTTP1Limits
    /// The TLS context of future connections. Whether the server uses TLS at all is fixed: a port does not change its
    /// protocol.
    package var tls: TLSContext? {
        didSet { precondition((tls == nil) == (oldValue == nil), "an HTTP/1.1 server cannot switch TLS on or off") }
    }
    /// The handler. It is nil after the close, because it may retain a responder and thereby this server.
    private var handler: Handler?
    private var listeners: [HTTP1Listener] = []
    /// Writes the answers to requests that do not reach the handler.
    let writeRefusal: HTTP1Refusal.Writer?
    /// The connections. Changed by them as well.
    var table = HTTP1ConnectionTable<HTTP1Connection>()
    /// The size of all incomplete requests. Changed by the connections.
    package internal(set) var bodyBytes = 0
    /// The size of all answers that clients have not read. Changed by the connections.
    package internal(set) var outputBytes = 0
    /// The connections that are closed at the end of the tick to make room, with the number of their last request.
    private var evicting: [(connection: HTTP1Connection, request: UInt64)] = []
    /// The connections that go on with pipelined requests in the next tick.
    private var yielding: [HTTP1Connection] = []
    private var state = State.running
    private var drainTimer: TimerID?
    private var isScheduled = false
    private var whenDone: [() -> Void] = []
    private var date = HTTP1Date()
    package private(set) var counts = Counts()

    /// Creates a server. On the loop. The handler is called on the loop, once per request, and may answer later.
    ///
    /// - Parameters:
    ///   - tls: The context of a TLS server, for all sockets of this server. Nil serves plaintext. Its ALPN protocols
    ///     should be `http/1.1` or none.
    ///   - writeRefusal: writes the answers to requests that do not reach the handler. Nil answers with plain text. It
    ///     must not retain a responder.
    package init(
        on loop: EventLoop, limits: HTTP1Limits = HTTP1Limits(), tls: TLSContext? = nil,
        writeRefusal: HTTP1Refusal.Writer? = nil, handler: @escaping Handler
    ) {
        loop.assertOnLoop()
        self.loop = loop
        self.limits = limits
        self.tls = tls
        self.writeRefusal = writeRefusal
        self.handler = handler
        Self.ignoresBrokenPipes
    }

    deinit {
        precondition(handler == nil, "an HTTP/1.1 server must be drained or closed before it is released")
    }

    private static let ignoresBrokenPipes: Void = { _ = signal(SIGPIPE, SIG_IGN) }()

    // MARK: Listening

    /// Listens on an IP address or `localhost`; port 0 selects a free port. Returns the port.
    @discardableResult
    package func listen(host: String, port: UInt16) throws(HTTP1Error) -> UInt16 {
        try expectRunning()
        return add(try HTTP1Listener(host: host, port: port, on: self))
    }

    /// Listens on a Unix socket that only this user can access. A stale socket file of an earlier process is replaced.
    package func listen(unixSocket path: String) throws(HTTP1Error) {
        try expectRunning()
        _ = add(try HTTP1Listener(unixSocket: path, on: self))
    }

    private func expectRunning() throws(HTTP1Error) {
        loop.assertOnLoop()
        guard case .running = state else {
            throw HTTP1Error(.closed, message: "HTTP cannot listen: the server is closing")
        }
    }

    private func add(_ listener: HTTP1Listener) -> UInt16 {
        listener.isPaused = isFull
        listeners.append(listener)
        return listener.port
    }

    // MARK: Connections

    /// Called by a listener.
    func accept(_ socket: consuming Socket) {
        counts.accepted += 1
        var engine: TLSEngine?
        if let tls {
            do throws(TLSError) {
                engine = try TLSEngine(context: tls, role: .server, keepsBuffers: false)
            } catch {
                counts.failedAccepts += 1
                socket.refuse()
                return
            }
        }
        // Unread output is dropped by the kernel as well, if the client has vanished without closing.
        socket.limitUnacknowledged(to: limits.stallTime)
        let admission: HTTP1Connection.Admission = counts.open >= limits.connections && !makeRoom() ? .refused : .served
        let number = table.reserve()
        let connection = HTTP1Connection(socket, tls: engine, number: number, admission: admission, on: self)
        table.add(connection, at: number)
        switch admission {
        case .refused: counts.refusing += 1
        case .served:
            counts.open += 1
            table.wait(at: number)
        }
        pauseIfFull()
    }

    /// Evicts the connection that has waited longest for a request or for the rest of one. Clients that connect and
    /// stay silent must not lock out others. Returns false if all connections are being answered.
    private func makeRoom() -> Bool {
        guard let longest = table.takeLongestWaiting() else { return false }
        counts.evicted += 1
        // Later, because its request may arrive in this tick.
        evicting.append((longest, longest.exchange.number))
        schedule()
        return true
    }

    /// Refuses the largest incomplete body if that of `connection` is small, so that clients with large bodies that never
    /// end do not keep out all others. Returns whether there is room now. The search happens only at the limit, and frees
    /// the room of many small bodies.
    func makeRoom(forBodyOf connection: HTTP1Connection) -> Bool {
        let small = limits.allBodiesBytes / 256
        guard connection.countedBody <= small else { return false }
        guard let largest = table.all.max(by: { $0.countedBody < $1.countedBody }), largest.countedBody > small else {
            return false
        }
        largest.giveWay()
        return bodyBytes <= limits.allBodiesBytes
    }

    /// Drops the connection with the most unread output if `connection` has little, so that clients which do not read do
    /// not keep out all others. Returns whether there will be room at the end of the tick. The search happens only at the
    /// limit.
    func makeRoom(forAnswerTo connection: HTTP1Connection) -> Bool {
        let small = limits.allOutputBytes / 256
        guard connection.countedOutput <= small else { return false }
        guard let largest = table.all.max(by: { $0.countedOutput < $1.countedOutput }), largest.countedOutput > small
        else { return false }
        largest.dropUnread()
        return true
    }

    /// Called by a listener, which then pauses for a moment. The usual cause is a lack of descriptors.
    func acceptFailed() {
        counts.failedAccepts += 1
    }

    private var isFull: Bool { counts.open + counts.refusing >= limits.connections + limits.refusedConnections }

    private func pauseIfFull() {
        for listener in listeners where listener.isPaused != isFull { listener.isPaused = isFull }
    }

    func handle(_ request: HTTP1Request, with responder: HTTP1Responder) {
        counts.requests += 1
        handler?(request, responder)
    }

    /// Lets a connection go on in the next tick.
    func yield(_ connection: HTTP1Connection) {
        yielding.append(connection)
        schedule()
    }

    /// The `Date` field of an answer at this moment.
    func dateLine() -> [UInt8] {
        date.line(at: .current())
    }

    /// Removes a connection that has closed.
    func remove(_ connection: HTTP1Connection) {
        table.remove(at: connection.number)
        switch connection.admission {
        case .served: counts.open -= 1
        case .refused: counts.refusing -= 1
        }
        pauseIfFull()
        schedule()
    }

    /// Closes the connections for which `shouldClose` returns true; see ``HTTP1Connection/close()``. On the loop.
    package func closeConnections(where shouldClose: (HTTP1Connection) -> Bool) {
        loop.assertOnLoop()
        for connection in table.all where shouldClose(connection) { connection.close() }
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
        for connection in table.all { connection.closeIfIdle() }
        guard let deadline, !table.isEmpty else { return }
        drainTimer = loop.schedule(after: deadline) { [unowned self] in
            drainTimer = nil
            for connection in table.all { connection.abort() }
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
        for connection in table.all { connection.abort() }
    }

    private func stopListening() {
        for listener in listeners { listener.close() }
        listeners = []
    }

    private func schedule() {
        guard !isScheduled else { return }
        isScheduled = true
        loop.flushAtTickEnd(self)
    }

    package func flushAtTickEnd() {
        isScheduled = false
        for (connection, request) in evicting { connection.evict(after: request) }
        evicting.removeAll()
        let turns = yielding
        yielding.removeAll(keepingCapacity: true)
        for connection in turns { connection.beginTurn() }
        guard isDraining, table.isEmpty else { return }
        if let timer = drainTimer.take() { loop.cancel(timer) }
        state = .closed
        handler = nil
        let done = whenDone
        whenDone = []
        for notify in done { notify() }
    }
}
