private import CEvent
import Glibc
import PushLoop

/// A connection of one client. It parses requests strictly and lets libevent's evhttp write the answers.
///
/// evhttp 2.1 manages connections and frames answers, but its parser accepts bare line feeds, folded lines, two lengths
/// and other invalid input. Therefore evhttp never sees a byte from the client. While ``HTTP1RequestMachine`` reads a
/// request, this class takes over the read callback of the bufferevent. For each request, evhttp receives an *errand*
/// instead: a request line that this class generates (`GET / HTTP/1.1`, or HEAD for HEAD), and whose answer is sent to
/// the client. Refusals are errands too, so that all answers take the same path.
///
/// The callbacks of libevent only record events. All work is done at the end of the tick, when no function of libevent
/// is on the stack that might use freed objects.
@safe
final class HTTP1Connection: TickEndFlushing {
    private enum Phase {
        /// The connection was accepted in this tick, and evhttp has its callbacks. Can transition to: reading,
        /// answering, closed.
        case opening
        /// The machine parses the input. Can transition to: answering, closed.
        case reading
        /// A handler or libevent has the request; input waits in libevent's buffer. Can transition to: between, closed.
        case answering
        /// The answer was sent, and evhttp has its callbacks again. Ends with the tick. Can transition to: reading,
        /// closed.
        case between
        /// evhttp has freed the connection.
        case closed
    }

    /// The decision about an accepted connection.
    enum Admission {
        case served
        /// The connection is answered with 503 because the maximum number of connections is open.
        case refused
    }

    private typealias DataCallback = @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Void
    private typealias EventCallback = @convention(c) (OpaquePointer?, Int16, UnsafeMutableRawPointer?) -> Void

    /// The maximum size of pipelined requests that wait while the current one is answered.
    private static let heldBytes = 16 * 1024

    private let server: HTTP1Server
    private let limits: HTTP1Limits
    private let buffer: OpaquePointer
    private let tls: HTTP1TLS?
    private let admission: Admission
    var wasServed: Bool { admission == .served }
    private var evhttp: OpaquePointer?
    private var phase = Phase.opening
    private var machine: HTTP1RequestMachine
    private var incoming = ByteQueue()
    private var exchange: HTTP1Exchange?
    private var peer = HTTP1Peer.local
    private var isScheduled = false
    private var isFinished = false
    private var served = 0
    private var wasRefused = false
    private var isEvicted = false
    /// The sequence number of the moment when the connection began to wait for a request.
    private(set) var waitsSince: UInt64
    private var linger: HTTP1Linger?

    private var timer = DeadlineTimer()
    private var timedStage: HTTP1RequestMachine.Stage?
    private var clientTookBytes = false

    private var isReleasing = false
    private var arrived: OpaquePointer?
    private var readCallback: DataCallback?
    private var writeCallback: DataCallback?
    private var inputWatch: OpaquePointer?
    private var outputWatch: OpaquePointer?

    init(_ buffer: OpaquePointer, tls: HTTP1TLS?, admission: Admission, on server: HTTP1Server) {
        self.server = server
        self.tls = tls
        unsafe self.buffer = buffer
        self.admission = admission
        limits = server.limits
        waitsSince = server.nextTurn()
        machine = HTTP1RequestMachine(limits: server.limits)
        // Retained until `begin`: the client may disconnect in the tick in which it connected, and evhttp reports this
        // to nobody.
        unsafe bufferevent_incref(buffer)
        // Watch the buffers from now on: bytes may arrive before this tick ends, while evhttp still has its callbacks.
        let this = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe inputWatch = evbuffer_add_cb(
            bufferevent_get_input(buffer),
            { _, change, this in unsafe HTTP1Connection.from(this).inputChanged(by: change!.pointee.n_added) }, this)
        unsafe outputWatch = evbuffer_add_cb(
            bufferevent_get_output(buffer),
            { _, change, this in unsafe HTTP1Connection.from(this).outputShrank(by: change!.pointee.n_deleted) }, this)
        schedule()
    }

    private func schedule() {
        guard !isScheduled else { return }
        isScheduled = true
        server.loop.flushAtTickEnd(self)
    }

    func flushAtTickEnd() {
        isScheduled = false
        if case .opening = phase { begin() }
        if case .between = phase { continueReading() }
        if case .reading = phase { read() }
        // Do not evict a connection whose request has just arrived.
        if case .reading = phase, isEvicted { closeNow() }
        if case .answering = phase { exchange?.outputHasDrained() }
        if case .closed = phase { finishClosing() }
    }

    // MARK: Opening

    private func begin() {
        var context: UnsafeMutableRawPointer?
        var event: EventCallback?
        unsafe bufferevent_getcb(buffer, nil, nil, &event, &context)
        guard unsafe event != nil, let context = unsafe context else {
            // The client has disconnected, and evhttp has freed its connection.
            removeWatches()
            phase = .closed
            unsafe bufferevent_decref(buffer)
            return
        }
        // The argument of evhttp's callbacks is its connection. Before the first request there is no other access to
        // it.
        let connection = OpaquePointer(context)
        precondition(
            unsafe evhttp_connection_get_bufferevent(connection) == buffer, "unsupported version of libevent")
        unsafe evhttp = connection
        unsafe bufferevent_decref(buffer)
        let this = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe evhttp_connection_set_closecb(
            connection, { _, this in unsafe HTTP1Connection.from(this).wasClosed() }, this)
        unsafe bufferevent_setwatermark(buffer, Int16(EV_READ), 0, Self.heldBytes)
        setUpSocket()
        takeCallbacks()
        phase = .reading
        switch admission {
        case _ where server.isDraining:
            abort()
        case .served:
            setTimer(after: limits.headerTime)
            timedStage = .head
        case .refused:
            release(
                nil, refusal: HTTP1Refusal(503, because: "all \(limits.connections) connections are in use"),
                isHead: false)
        }
    }

    private func setUpSocket() {
        let descriptor = unsafe bufferevent_getfd(buffer)
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        unsafe withUnsafeMutablePointer(to: &address) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe _ = getpeername(descriptor, $0, &length)
            }
        }
        guard address.ss_family != sa_family_t(AF_UNIX) else { return }
        var host: UnsafeMutablePointer<CChar>?
        var port: UInt16 = 0
        unsafe evhttp_connection_get_peer(evhttp, &host, &port)
        peer = unsafe .address(host: host.map { unsafe String(cString: $0) } ?? "", port: port)
        // Each answer is sent with one write. A streamed answer must not wait for the acknowledgment of its last chunk.
        var on: CInt = 1
        unsafe _ = setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<CInt>.size))
    }

    // MARK: Reading

    /// Takes over the read and write callbacks. evhttp still receives errors and the end of the connection.
    private func takeCallbacks() {
        unsafe bufferevent_getcb(buffer, &readCallback, &writeCallback, nil, nil)
        unsafe setCallbacks(read: nil, write: nil)
        unsafe bufferevent_enable(buffer, Int16(EV_READ))
    }

    private func setCallbacks(read: DataCallback?, write: DataCallback?) {
        var event: EventCallback?
        var context: UnsafeMutableRawPointer?
        unsafe bufferevent_getcb(buffer, nil, nil, &event, &context)
        unsafe bufferevent_setcb(buffer, read, write, event, context)
    }

    private func inputChanged(by added: Int) {
        guard added > 0, !isReleasing else { return }
        switch phase {
        case .reading: schedule()
        case .opening, .between:
            takeInput()
            // A tick may contain several reads, but the machine runs only at its end.
            if incoming.count > Self.heldBytes { unsafe bufferevent_disable(buffer, Int16(EV_READ)) }
        case .answering, .closed: break
        }
    }

    private func takeInput() {
        let input = unsafe bufferevent_get_input(buffer)
        let count = unsafe evbuffer_get_length(input)
        guard count > 0 else { return }
        unsafe incoming.append(upTo: count) { room in
            unsafe max(0, Int(evbuffer_remove(input, room.baseAddress, count)))
        }
    }

    private func continueReading() {
        exchange = nil
        takeCallbacks()
        phase = .reading
        isEvicted = false
        waitsSince = server.nextTurn()
        if server.isDraining, incoming.isEmpty {
            closeNow()
        }
    }

    private func read() {
        takeInput()
        while case .reading = phase {
            switch machine.next(&incoming) {
            case .needsMore:
                armTimer()
                return
            case .expectsContinue:
                if incoming.isEmpty { askForBody() }
            case .request(let head, let body):
                release((head, body), refusal: nil, isHead: head.method == .head)
            case .refused(let refusal, let isHead):
                release(nil, refusal: refusal, isHead: isHead)
            }
        }
    }

    private func askForBody() {
        // evhttp's write callback is removed here. Otherwise evhttp would assume that the previous answer was sent
        // again.
        let text = "HTTP/1.1 100 Continue\r\n\r\n"
        unsafe _ = evbuffer_add(bufferevent_get_output(buffer), text, text.utf8.count)
        unsafe bufferevent_enable(buffer, Int16(EV_WRITE))
    }

    // MARK: Answering

    private func release(_ request: (head: HTTP1Head, body: [UInt8])?, refusal: HTTP1Refusal?, isHead: Bool) {
        clearTimer()
        phase = .answering
        served += 1
        wasRefused = refusal != nil
        let isLast = wasRefused || request?.head.wantsClose == true || limits.requestsPerConnection == served
        let version = request?.head.isHTTP10 == true ? "1.0" : "1.1"
        let errand =
            "\(isHead ? "HEAD" : "GET") / HTTP/\(version)\r\n\(isLast ? "Connection: close\r\n" : "")\r\n"
        unsafe setCallbacks(read: readCallback, write: writeCallback)
        takeInput()
        isReleasing = true
        server.releasing = self
        unsafe _ = evbuffer_prepend(bufferevent_get_input(buffer), errand, errand.utf8.count)
        unsafe bufferevent_trigger(buffer, Int16(EV_READ), 0)
        server.releasing = nil
        isReleasing = false
        guard case .answering = phase, let arrived = unsafe arrived.take() else {
            // This happens only if memory has run out.
            abort()
            return
        }
        // Keep reading to detect a disconnect, but without evhttp's read callback: given bytes now, evhttp would abort
        // the process.
        unsafe setCallbacks(read: nil, write: nil)
        unsafe bufferevent_enable(buffer, Int16(EV_READ))
        let this = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe evhttp_request_set_on_complete_cb(
            arrived, { _, this in unsafe HTTP1Connection.from(this).wasAnswered() }, this)
        let exchange = unsafe HTTP1Exchange(arrived, on: self, isHead: isHead)
        self.exchange = exchange
        if let refusal {
            exchange.refuse(refusal)
        } else if let (head, body) = request {
            let request = HTTP1Request(
                method: head.method, target: head.target, path: head.path, query: head.query, headers: head.headers,
                body: body, peer: peer)
            server.handle(request, with: HTTP1Responder(exchange, on: server.loop))
        }
    }

    /// Called from evhttp's request callback, within `release`.
    func errandArrived(_ request: OpaquePointer) {
        unsafe arrived = request
    }

    /// Called when the system has taken the whole answer. evhttp then waits for the next request or closes.
    private func wasAnswered() {
        phase = .between
        clearTimer()
        takeInput()
        schedule()
    }

    // MARK: Functions for the exchange

    var closesAfterAnswer: Bool { server.isDraining }
    var streamBufferBytes: Int { limits.streamBufferBytes }

    var outputCount: Int {
        if case .closed = phase { return 0 }
        return unsafe evbuffer_get_length(bufferevent_get_output(buffer))
    }

    func outputWasAdded() {
        guard case .answering = phase, !timer.isArmed(on: server.loop), outputCount > 0 else { return }
        clientTookBytes = false
        setTimer(after: limits.stallTime)
    }

    private func outputShrank(by deleted: Int) {
        guard deleted > 0, case .answering = phase else { return }
        clientTookBytes = true
        schedule()
    }

    // MARK: Timeouts

    private func armTimer() {
        let stage = machine.stage(with: incoming)
        guard stage != timedStage || !timer.isArmed(on: server.loop) else { return }
        // The time of the first request runs from the start of the connection, whether or not the client has sent
        // anything.
        if served == 0, stage == .idle { return }
        timedStage = stage
        switch stage {
        case .idle: setTimer(after: limits.idleTime)
        case .head: setTimer(after: limits.headerTime)
        case .body: setTimer(after: limits.bodyTime)
        }
    }

    private func setTimer(after delay: Duration) {
        // The strong reference is safe: closing cancels the timer, and the connection is always closed before it is
        // released.
        timer.arm(at: server.loop.now + delay, on: server.loop, action: { self.timeIsUp() })
    }

    private func clearTimer() {
        timer.disarm(on: server.loop)
        timedStage = nil
    }

    private func timeIsUp() {
        switch phase {
        case .reading:
            let stage = machine.stage(with: incoming)
            guard stage != .idle else {
                // Do not close a connection whose next request has just arrived.
                return isScheduled ? () : closeNow()
            }
            let what = stage == .head ? "the header fields" : "the body"
            release(nil, refusal: HTTP1Refusal(408, because: "\(what) took too long"), isHead: false)
        case .answering where outputCount > 0:
            guard clientTookBytes else { return abort() }
            clientTookBytes = false
            setTimer(after: limits.stallTime)
        case .opening, .answering, .between, .closed: break
        }
    }

    // MARK: Closing

    /// Closes the connection if no request has begun.
    func closeIfIdle() {
        if case .reading = phase, machine.stage(with: incoming) == .idle {
            closeNow()
        }
    }

    /// Whether the connection only waits for its client.
    var canBeEvicted: Bool {
        guard admission == .served, !isEvicted else { return false }
        return switch phase {
        case .opening, .reading: true
        case .answering, .between, .closed: false
        }
    }

    /// Closes the connection at the end of the tick if it still waits for a request then.
    func evict() {
        isEvicted = true
        schedule()
    }

    /// Drops the connection and its request. A handler that is answering is notified.
    func abort() {
        wasRefused = false
        closeNow()
    }

    private func closeNow() {
        if case .closed = phase { return }
        guard let evhttp = unsafe evhttp else { return }
        unsafe evhttp_connection_free(evhttp)
    }

    /// Called when evhttp is about to free the connection, whoever caused it.
    private func wasClosed() {
        let unread = unsafe incoming.count + evbuffer_get_length(bufferevent_get_input(buffer))
        if wasRefused || (unread > 0 && !isEvicted) {
            // Closing with unread bytes resets the connection, and the client would lose what it has not read yet.
            linger = HTTP1Linger(copyOf: unsafe bufferevent_getfd(buffer))
        }
        tls?.sendCloseNotify()
        removeWatches()
        unsafe evhttp = nil
        phase = .closed
        clearTimer()
        exchange?.connectionWasClosed()
        schedule()
    }

    private func removeWatches() {
        unsafe _ = evbuffer_remove_cb_entry(bufferevent_get_input(buffer), inputWatch)
        unsafe _ = evbuffer_remove_cb_entry(bufferevent_get_output(buffer), outputWatch)
    }

    private func finishClosing() {
        guard !isFinished else { return }
        isFinished = true
        exchange.take()?.notifyClosed()
        guard let linger else { return server.remove(self) }
        linger.start(for: limits.lingerTime, on: server.loop) {
            self.linger = nil
            self.server.remove(self)
        }
    }

    private static func from(_ this: UnsafeMutableRawPointer?) -> HTTP1Connection {
        unsafe Unmanaged<HTTP1Connection>.fromOpaque(this!).takeUnretainedValue()
    }
}
