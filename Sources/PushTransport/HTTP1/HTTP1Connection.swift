private import CEvent
import Glibc
import PushLoop

/// One client's connection: reads requests strictly, and lets libevent's evhttp answer them.
///
/// evhttp 2.1 keeps connections and frames answers, but its parser takes bare line feeds, folded lines, two lengths
/// and much else. So it never sees a byte of the client: the bufferevent's read callback is taken from it while a
/// request is read by `HTTP1RequestMachine`, and for each request it is handed an *errand* instead, a request line of
/// this side's making that is answered in the client's place (`GET / HTTP/1.1`; HEAD for HEAD). Refusals are errands
/// too, so that every answer leaves by the same way.
///
/// libevent's callbacks only note what happened; all work is done at the tick's end, with no frame of libevent below
/// that might hold what is freed.
@safe
final class HTTP1Connection: TickEndFlushing {
    private enum Phase {
        /// Accepted in this tick; evhttp has its callbacks. Can transition to: reading, answering, closed.
        case opening
        /// Bytes go to the machine. Can transition to: answering, closed.
        case reading
        /// A handler or libevent has the request; bytes wait in libevent's buffer. Can transition to: between, closed.
        case answering
        /// The answer is out, and evhttp has its callbacks back. Ends with the tick: reading, closed.
        case between
        /// evhttp has freed it.
        case closed
    }

    /// What is to become of a connection that was just accepted.
    enum Admission {
        case served
        /// Told 503: all places are taken.
        case refused
    }

    private typealias DataCallback = @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Void
    private typealias EventCallback = @convention(c) (OpaquePointer?, Int16, UnsafeMutableRawPointer?) -> Void

    /// What of a client's next requests may wait while the present one is answered.
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
    /// When it began to wait for a request, as a place in the order of all.
    private(set) var waitsSince: UInt64
    private var linger: HTTP1Linger?

    private var timer: TimerID?
    private var timedStage: HTTP1RequestMachine.Stage?
    private var clientTookBytes = false

    private var isReleasing = false
    private var arrived: OpaquePointer?
    private var readCallback: DataCallback?
    private var writeCallback: DataCallback?
    private var inputWatch: OpaquePointer?
    private var outputWatch: OpaquePointer?

    init(_ buffer: OpaquePointer, tls: HTTP1TLS?, _ admission: Admission, on server: HTTP1Server) {
        self.server = server
        self.tls = tls
        unsafe self.buffer = buffer
        self.admission = admission
        limits = server.limits
        waitsSince = server.nextTurn()
        machine = HTTP1RequestMachine(limits: server.limits)
        // Until `begin`: the client may go in the tick in which it came, and evhttp then tells nobody.
        unsafe bufferevent_incref(buffer)
        // From now: bytes may come before this tick ends, and evhttp has its callbacks still.
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
        // Unless its request has come just now.
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
            // The client has gone again, and evhttp with it.
            removeWatches()
            phase = .closed
            unsafe bufferevent_decref(buffer)
            return
        }
        // The argument of evhttp's callbacks is its connection: there is no other way to it before a first request.
        let connection = OpaquePointer(context)
        precondition(
            unsafe evhttp_connection_get_bufferevent(connection) == buffer, "this libevent's evhttp is built otherwise")
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
            release(nil, refusal: HTTP1Refusal(503, "all \(limits.connections) connections are in use"), isHead: false)
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
        // Each answer goes out in one write; a streamed one must not wait for the acknowledgement of its last chunk.
        var on: CInt = 1
        unsafe _ = setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<CInt>.size))
    }

    // MARK: Reading

    /// From here evhttp hears of errors and the end only.
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
            // One tick may hold several reads; the machine comes to its turn only at the end.
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
        // Its write callback is taken: evhttp would think that the answer before is out once more.
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
            // Only where memory has run out.
            abort()
            return
        }
        // Read on, to hear that the client has gone. Without evhttp's callback: given bytes now, it ends the process.
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
            server.handle(request, HTTP1Responder(exchange, on: server.loop))
        }
    }

    /// From evhttp's request callback, within `release`.
    func errandArrived(_ request: OpaquePointer) {
        unsafe arrived = request
    }

    /// All of the answer is in the system's hands. evhttp goes on to wait for the next request, or to close.
    private func wasAnswered() {
        phase = .between
        clearTimer()
        takeInput()
        schedule()
    }

    // MARK: For the exchange

    var closesAfterAnswer: Bool { server.isDraining }
    var streamBufferBytes: Int { limits.streamBufferBytes }

    var outputCount: Int {
        if case .closed = phase { return 0 }
        return unsafe evbuffer_get_length(bufferevent_get_output(buffer))
    }

    func outputWasAdded() {
        guard case .answering = phase, timer == nil, outputCount > 0 else { return }
        clientTookBytes = false
        setTimer(after: limits.stallTime)
    }

    private func outputShrank(by deleted: Int) {
        guard deleted > 0, case .answering = phase else { return }
        clientTookBytes = true
        schedule()
    }

    // MARK: Time

    private func armTimer() {
        let stage = machine.stage(with: incoming)
        guard stage != timedStage || timer == nil else { return }
        // A connection's first request has its time from the start, sent or not.
        if served == 0, stage == .idle { return }
        timedStage = stage
        switch stage {
        case .idle: setTimer(after: limits.idleTime)
        case .head: setTimer(after: limits.headerTime)
        case .body: setTimer(after: limits.bodyTime)
        }
    }

    private func setTimer(after delay: Duration) {
        let deadline = server.loop.now + delay
        if let timer, server.loop.reschedule(timer, at: deadline) { return }
        // Strong: the timer goes when the connection is closed, which is in any case before it is let go.
        timer = server.loop.schedule(at: deadline) { self.timeIsUp() }
    }

    private func clearTimer() {
        if let timer = timer.take() { server.loop.cancel(timer) }
        timedStage = nil
    }

    private func timeIsUp() {
        timer = nil
        switch phase {
        case .reading:
            let stage = machine.stage(with: incoming)
            guard stage != .idle else {
                // Unless its next request has come just now.
                return isScheduled ? () : closeNow()
            }
            let what = stage == .head ? "the header fields" : "the body"
            release(nil, refusal: HTTP1Refusal(408, "\(what) took too long"), isHead: false)
        case .answering where outputCount > 0:
            guard clientTookBytes else { return abort() }
            clientTookBytes = false
            setTimer(after: limits.stallTime)
        case .opening, .answering, .between, .closed: break
        }
    }

    // MARK: Closing

    /// Closes if nothing has begun on it.
    func closeIfIdle() {
        if case .reading = phase, machine.stage(with: incoming) == .idle {
            closeNow()
        }
    }

    /// Whether it only waits for its client.
    var canBeEvicted: Bool {
        guard admission == .served, !isEvicted else { return false }
        return switch phase {
        case .opening, .reading: true
        case .answering, .between, .closed: false
        }
    }

    /// Closes it at the end of the tick if it still waits then.
    func evict() {
        isEvicted = true
        schedule()
    }

    /// Drops the connection and what is on it. Whoever is answering hears of it.
    func abort() {
        wasRefused = false
        closeNow()
    }

    private func closeNow() {
        if case .closed = phase { return }
        guard let evhttp = unsafe evhttp else { return }
        unsafe evhttp_connection_free(evhttp)
    }

    /// evhttp frees the connection when this returns, whoever asked for it.
    private func wasClosed() {
        let unread = unsafe incoming.count + evbuffer_get_length(bufferevent_get_input(buffer))
        if wasRefused || (unread > 0 && !isEvicted) {
            // Closing over unread bytes resets the connection, and with it goes what the client has not read yet.
            linger = HTTP1Linger(copyOf: unsafe bufferevent_getfd(buffer))
        }
        tls?.sayGoodbye()
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
