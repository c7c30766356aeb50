private import CLinux
private import CZeroMQ
private import Glibc
package import PushLoop

/// A ZeroMQ socket on a loop. It delivers received messages in batches, and sending never blocks.
///
/// Confined to its loop: created, used and closed there. libzmq's descriptor signals activity, not messages, and it
/// does not signal activity that other calls have already processed, whether they succeed or not. So the socket checks
/// its state after each batch and, once per tick, after any other call.
///
/// Its handlers are retained until ``close()``; capture their owner weakly or unowned. They may send, pause and close.
@safe
package final class ZMQSocket {
    package enum Kind: Hashable, Sendable {
        case router, dealer, push, pull, pub, sub, xpub, req, rep, pair
    }

    package let kind: Kind
    package let loop: EventLoop
    package let context: ZMQContext
    /// The ZAP domain; empty for a socket without security.
    let domain: String

    /// Called for each message. Messages wait in the socket while there is no handler. For an XPUB, each frame is a
    /// separate message: see ``ZMQSubscription``.
    package var onMessage: ((borrowing ZMQMessage) -> Void)? {
        didSet { requestCheck() }
    }
    /// Called once after each batch of messages, for work that is cheaper for many at once.
    package var onBatchEnd: (() -> Void)?
    /// Called for a message with more than `ZMQOutbox.maxFrames` frames. It gets the first ones and the total number.
    package var onMalformed: ((borrowing ZMQMessage, _ frameCount: Int) -> Void)?
    /// Called once after a send returned `wouldBlock`, when a retry is useful.
    package var onWritable: (() -> Void)?
    /// Called for each message from a connection, with its descriptor and the size of the message on the wire, or less.
    var onSender: ((CInt, Int) -> Void)?
    /// Called when the socket closes because its context ends.
    package var onTerminated: (() -> Void)?

    private var handle: UnsafeMutableRawPointer?
    private var watch: Watch?
    private weak var monitor: ZMQMonitor?
    /// The listeners that this side created, by the endpoint that `bind` returned.
    private var listeners: [String: ZMQListener] = [:]
    /// What the listeners of this socket are made with.
    private let listening: (backlog: Int, ignoresResets: Bool, ipcMode: mode_t)
    private let turnLimits: ZMQTurnLimits
    private var turn: ZMQTurn
    private let work: WorkNote?
    private let inbox: ZMQInbox
    private var outbox = ZMQOutbox()
    private(set) var isPaused = false
    private var wantsWritable = false
    private var checkRequested = false
    private var retryTimer: TimerID?

    package init(
        _ kind: Kind, in context: ZMQContext, on loop: EventLoop, options: ZMQSocketOptions = ZMQSocketOptions()
    ) throws(ZMQError) {
        loop.assertOnLoop()
        self.kind = kind
        self.loop = loop
        self.context = context
        domain = options.security.domain
        turnLimits = options.turn
        turn = ZMQTurn(options.turn)
        work = options.work
        listening = (options.backlog, options.ignoresResets, options.ipcMode)
        inbox = ZMQInbox(overhead: options.security.frameOverhead)
        let socket = unsafe try context.makeSocket(kind.type)
        unsafe handle = socket
        do throws(ZMQError) {
            unsafe try options.apply(to: socket, kind: kind)
            watch = Watch(unsafe try Self.descriptor(of: socket), on: loop) { [unowned self] _ in self.descriptorFired()
            }
        } catch {
            unsafe zmq_close(socket)
            unsafe handle = nil
            throw error
        }
        watch?.interest = .readable
        requestCheck()
    }

    deinit {
        precondition(unsafe handle == nil, "a ZeroMQ socket must be closed before it is released")
    }

    package var isClosed: Bool { unsafe handle == nil }

    /// Closes the socket. Queued messages are still sent for as long as `linger` allows. No handler is called again.
    /// May be called twice.
    package func close() {
        guard let socket = unsafe handle else { return }
        loop.assertOnLoop()
        // Cancel the watch first, because libzmq closes the descriptor.
        watch?.cancel()
        watch = nil
        if let timer = retryTimer.take() { loop.cancel(timer) }
        unsafe handle = nil
        unsafe zmq_close(socket)
        listeners = [:]
        outbox.clear()
        onMessage = nil
        onBatchEnd = nil
        onMalformed = nil
        onWritable = nil
        onSender = nil
        onTerminated = nil
    }

    // MARK: Endpoints

    /// Listens and returns the endpoint, with the port that the system chose for `tcp://127.0.0.1:*`.
    ///
    /// The file of an `ipc://` endpoint has the permissions of `ipcMode`. It stays after the close, and the next bind
    /// replaces it if no process listens on it. Any other existing file is an error.
    @discardableResult
    package func bind(_ endpoint: String) throws(ZMQError) -> String {
        let socket = unsafe try open("bind \(endpoint)")
        defer { requestCheck() }
        try Self.checkPort(of: endpoint, action: "bind")
        let listener = try ZMQListener.make(
            for: endpoint, backlog: listening.backlog, ignoresResets: listening.ignoresResets)
        if let listener {
            unsafe try Self.lend(try listener.copy(for: endpoint), to: socket, for: endpoint)
        } else if let path = IPCListener.path(of: endpoint) {
            let descriptor = try IPCListener.listen(at: path, mode: listening.ipcMode, backlog: listening.backlog)
            unsafe try Self.lend(descriptor, to: socket, for: endpoint)
        } else {
            guard unsafe zmq_bind(socket, endpoint) == 0 else { throw .last("bind \(endpoint)") }
        }
        let bound = unsafe try Self.lastEndpoint(of: socket)
        listeners[bound] = listener
        return bound
    }

    /// Whether new connections are accepted. It affects listeners that this side created: those on numeric TCP
    /// addresses. Otherwise new connections wait in the kernel and existing ones continue (unbinding would end them).
    package var isAccepting: Bool {
        get { listeners.values.allSatisfy(\.isAccepting) }
        set { for listener in listeners.values { listener.isAccepting = newValue } }
    }

    /// Binds with a listening descriptor. libzmq closes it in the end.
    private static func lend(
        _ descriptor: CInt, to socket: UnsafeMutableRawPointer, for endpoint: String
    ) throws(ZMQError) {
        var (given, none) = (descriptor, CInt(-1))
        let size = MemoryLayout<CInt>.size
        guard unsafe zmq_setsockopt(socket, ZMQ_USE_FD, &given, size) == 0, unsafe zmq_bind(socket, endpoint) == 0
        else {
            let error = ZMQError.last("bind \(endpoint)")
            Glibc.close(descriptor)
            throw error
        }
        unsafe zmq_setsockopt(socket, ZMQ_USE_FD, &none, size)
    }

    /// Ends all connections, as `unbind` does, but keeps listening without a pause. Returns false if this side did not
    /// create the listener (see ``isAccepting``).
    func bindAnew() throws(ZMQError) -> Bool {
        let socket = unsafe try open("bind again")
        defer { requestCheck() }
        for (endpoint, listener) in listeners {
            let descriptor = try listener.copy(for: endpoint)
            // After a failed attempt the endpoint is not bound; the error is ignored.
            unsafe zmq_unbind(socket, endpoint)
            unsafe try Self.lend(descriptor, to: socket, for: endpoint)
        }
        return !listeners.isEmpty
    }

    /// Connects, and reconnects whenever the connection is lost. A monitor reports whether it is established.
    package func connect(_ endpoint: String) throws(ZMQError) {
        let socket = unsafe try open("connect to \(endpoint)")
        defer { requestCheck() }
        try Self.checkPort(of: endpoint, action: "connect to")
        guard unsafe zmq_connect(socket, endpoint) == 0 else { throw .last("connect to \(endpoint)") }
    }

    /// - Parameter endpoint: The endpoint that `bind` returned.
    package func unbind(_ endpoint: String) throws(ZMQError) {
        let socket = unsafe try open("unbind \(endpoint)")
        defer { requestCheck() }
        guard unsafe zmq_unbind(socket, endpoint) == 0 else { throw .last("unbind \(endpoint)") }
        listeners[endpoint] = nil
    }

    package func disconnect(_ endpoint: String) throws(ZMQError) {
        let socket = unsafe try open("disconnect from \(endpoint)")
        defer { requestCheck() }
        guard unsafe zmq_disconnect(socket, endpoint) == 0 else { throw .last("disconnect from \(endpoint)") }
    }

    /// Subscribes to messages that start with `prefix` (SUB only).
    package func subscribe(_ prefix: String) throws(ZMQError) {
        try setSubscription(ZMQ_SUBSCRIBE, prefix: prefix, action: "subscribe to \"\(prefix)\"")
    }

    package func unsubscribe(_ prefix: String) throws(ZMQError) {
        try setSubscription(ZMQ_UNSUBSCRIBE, prefix: prefix, action: "unsubscribe from \"\(prefix)\"")
    }

    /// Reports the events of this socket's connections. A socket has one monitor at a time; a new monitor stops the
    /// previous one.
    @discardableResult
    package func monitor(_ handler: @escaping (ZMQMonitorEvent) -> Void) throws(ZMQError) -> ZMQMonitor {
        let socket = unsafe try open("monitor")
        let made = unsafe try ZMQMonitor(of: self, handle: socket, handler: handler)
        monitor = made
        return made
    }

    /// Stops the events of a monitor. If another monitor has replaced it, it was stopped before.
    func stopMonitoring(by stopping: ZMQMonitor) {
        guard stopping === monitor, let socket = unsafe handle else { return }
        monitor = nil
        unsafe zmq_socket_monitor(socket, nil, 0)
    }

    // MARK: Receiving

    /// Leaves messages in the queues. When these are full, the peers are slowed down.
    package func pauseReceiving() {
        loop.assertOnLoop()
        isPaused = true
    }

    package func resumeReceiving() {
        loop.assertOnLoop()
        isPaused = false
        requestCheck()
    }

    // MARK: Sending

    /// Sends a message of one frame with a copy of `bytes`.
    package func send(_ bytes: UnsafeRawBufferPointer) -> ZMQSendResult {
        loop.assertOnLoop()
        guard let socket = unsafe handle else { return .failed(.closed("send")) }
        while true {
            if unsafe zmq_send(socket, bytes.baseAddress, bytes.count, ZMQ_DONTWAIT) >= 0 {
                return finishSending(.sent)
            }
            switch zmq_errno() {
            case EINTR: continue
            case EAGAIN:
                guard unsafe isWritableAfterAll(socket) else { return finishSending(.full) }
                if unsafe zmq_send(socket, bytes.baseAddress, bytes.count, ZMQ_DONTWAIT) >= 0 {
                    return finishSending(.sent)
                }
                return finishSending(.full)
            case EHOSTUNREACH: return finishSending(.unreachable)
            case let number: return finishSending(.failed(number))
            }
        }
    }

    package func send(_ bytes: [UInt8]) -> ZMQSendResult {
        unsafe bytes.withUnsafeBytes { unsafe send($0) }
    }

    /// Sends the frames that `build` adds as one message: all of them or none.
    package func send(_ build: (inout ZMQOutbox) -> Void) -> ZMQSendResult {
        loop.assertOnLoop()
        guard let socket = unsafe handle else { return .failed(.closed("send")) }
        build(&outbox)
        guard !outbox.hasTooManyFrames, outbox.count > 0 else {
            outbox.clear()
            return .failed(
                ZMQError(.tooManyFrames, message: "cannot send: a message needs 1 to \(ZMQOutbox.maxFrames) frames"))
        }
        var attempt = unsafe outbox.transmit(to: socket)
        if case .full = attempt, unsafe isWritableAfterAll(socket) {
            attempt = unsafe outbox.transmit(to: socket)
        }
        outbox.clear()
        return finishSending(attempt)
    }

    /// Returns whether the socket is writable. A send checks the socket's mailbox only occasionally, so "full" may be
    /// outdated. This is rare and then worth a check.
    private func isWritableAfterAll(_ socket: UnsafeMutableRawPointer) -> Bool {
        unsafe events(of: socket).map { $0 & ZMQ_POLLOUT != 0 } ?? false
    }

    private func finishSending(_ attempt: ZMQOutbox.Attempt) -> ZMQSendResult {
        switch attempt {
        case .full, .peerGone:
            wantsWritable = true
            if kind == .router { scheduleRetry() }
        case .sent, .unreachable, .failed: break
        }
        // The attempt may have consumed the signal for a received message, or for room that a sender waits for. A full
        // queue is no exception: to find it, libzmq processes all activity of the socket.
        if kind != .push || wantsWritable { requestCheck() }
        switch attempt {
        case .sent: return .sent
        case .full, .peerGone: return .wouldBlock
        case .unreachable: return .unreachable
        case .failed(let number): return .failed(ZMQError(number: number, action: "send"))
        }
    }

    /// The time after which a ROUTER without activity retries its full peers.
    private static let retryInterval = Duration.milliseconds(5)

    /// Schedules a retry. A ROUTER is writable if any of its peers is, which says nothing about the full one. Its owner
    /// retries when there is activity on the socket, or else after a short time.
    private func scheduleRetry() {
        guard retryTimer == nil else { return }
        retryTimer = loop.schedule(after: Self.retryInterval) { [weak self] in
            guard let self else { return }
            retryTimer = nil
            notifyWritable()
        }
    }

    private func notifyWritable() {
        guard wantsWritable, !isClosed else { return }
        wantsWritable = false
        if let timer = retryTimer.take() { loop.cancel(timer) }
        onWritable?()
    }

    // MARK: Service

    /// Checks the socket at the end of this tick, or of the next one if this tick is already ending.
    private func requestCheck() {
        guard !checkRequested, unsafe handle != nil else { return }
        checkRequested = true
        loop.flushAtTickEnd(self)
    }

    package func flushAtTickEnd() {
        checkRequested = false
        service()
    }

    private func descriptorFired() {
        if kind == .router { notifyWritable() }
        service()
    }

    /// Processes all that the socket is ready for, until nothing is left or other sockets must get their turn.
    private func service() {
        withExtendedLifetime(self) {
            turn = ZMQTurn(turnLimits)
            work?.set()
            while let socket = unsafe handle {
                guard let events = unsafe events(of: socket) else { return terminate() }
                let writes = events & ZMQ_POLLOUT != 0 && wantsWritable && kind != .router
                if writes { notifyWritable() }
                let receives = events & ZMQ_POLLIN != 0 && onMessage != nil && !isPaused
                let received = unsafe receives ? receive(from: socket) : 0
                if received == 0 && !writes { return }
                if received == 0 { turn.took(0) }
                if turn.isOver {
                    // The descriptor does not fire again for the remaining messages.
                    requestCheck()
                    return
                }
            }
        }
    }

    /// Counts the lines of a message, which take as long as that many messages. Called by its handler.
    package func took(lines: Int) { turn.took(lines: lines) }

    /// Receives messages until the turn is over and returns their number. If libzmq stops for any reason, the next check
    /// of the socket finds it.
    private func receive(from socket: UnsafeMutableRawPointer) -> Int {
        guard let handler = onMessage else { return 0 }
        var usedFrames = 0
        var received = 0
        receiving: while received == 0 || !turn.isOver, !isPaused, unsafe handle == socket {
            switch unsafe inbox.receive(from: socket, frameByFrame: kind == .xpub) {
            case .message(let count):
                usedFrames = max(usedFrames, count)
                turn.took(inbox.memory(frames: count))
                if acceptSender(of: inbox.message(frames: count)) {
                    handler(inbox.message(frames: count))
                }
            case .oversized(let count):
                usedFrames = max(usedFrames, count)
                turn.took(inbox.memory(frames: count))
                if acceptSender(of: inbox.message(frames: count)) {
                    onMalformed?(inbox.message(frames: count), count)
                }
            case .empty, .terminated, .failed:
                break receiving
            }
            received += 1
        }
        inbox.clear(frames: usedFrames)
        if received > 0 { onBatchEnd?() }
        return received
    }

    /// The maximum length of a routing id in ZMTP. libzmq enforces it for its own clients only.
    private static let maxRoutingIDLength = 255

    /// Decides whether a message is delivered. Messages of a peer with a routing id that is too long are dropped, and
    /// its connection is ended, so readers of a ROUTER can rely on short ids.
    private func acceptSender(of message: borrowing ZMQMessage) -> Bool {
        // The first frame of a ROUTER's message was not on the wire.
        let ownFrame = kind == .router ? message.byteCount(ofFrame: 0) : nil
        if let ownFrame, ownFrame > Self.maxRoutingIDLength {
            // libzmq may have closed the connection meanwhile and reused its number for another client.
            if let descriptor = message.sourceDescriptor, let peer = SocketAddress.peer(of: descriptor),
                let address = message.peerAddress, address.prefix(while: { $0 != "%" }) == peer.ip
            {
                _ = hangUp(on: descriptor, from: peer)
            }
            return false
        }
        if let onSender, let descriptor = message.sourceDescriptor {
            let notOnWire = if let ownFrame { inbox.bytesOnWire(ofFrame: ownFrame) } else { 0 }
            onSender(descriptor, inbox.bytesOnWire - notOnWire)
        }
        return true
    }

    /// Ends a TCP connection: nothing more is received from it, and libzmq finds its end after the data received
    /// before. Returns false if it is not a connection of this socket, or if another client has the descriptor now.
    ///
    /// Only the reading half is shut down, because the kernel does not report this as a hang-up. A hang-up aborts the
    /// process if libzmq is not reading from the connection at that moment (libzmq issues 3937 and 4364).
    func hangUp(on descriptor: CInt, from peer: SocketAddress) -> Bool {
        guard SocketAddress.peer(of: descriptor) == peer, let local = SocketAddress.local(of: descriptor),
            listeners.values.contains(where: { $0.port == local.port })
        else { return false }
        // Otherwise data that the peer keeps sending would be read before the end.
        _ = CLinux_receive_nothing(descriptor)
        return shutdown(descriptor, CInt(SHUT_RD)) == 0
    }

    private func terminate() {
        let report = onTerminated
        close()
        report?()
    }

    // MARK: libzmq calls

    /// Returns the events that the socket is ready for, or nil if the context has ended.
    private func events(of socket: UnsafeMutableRawPointer) -> CInt? {
        var events: CInt = 0
        var size = MemoryLayout<CInt>.size
        while unsafe zmq_getsockopt(socket, ZMQ_EVENTS, &events, &size) != 0 {
            if zmq_errno() != EINTR { return nil }
        }
        return events
    }

    private func open(_ action: @autoclosure () -> String) throws(ZMQError) -> UnsafeMutableRawPointer {
        loop.assertOnLoop()
        guard let socket = unsafe handle else { throw .closed(action()) }
        return unsafe socket
    }

    /// Rejects invalid ports. libzmq truncates a port to 16 bits: 99999 would become 34463.
    private static func checkPort(of endpoint: String, action: String) throws(ZMQError) {
        guard endpoint.hasPrefix("tcp://"), let colon = endpoint.lastIndex(of: ":") else { return }
        let port = endpoint[endpoint.index(after: colon)...]
        guard let number = Int(port), !(0...65535).contains(number) else { return }
        throw ZMQError(.invalidEndpoint, message: "cannot \(action) \(endpoint): ports end at 65535")
    }

    private func setSubscription(_ option: CInt, prefix: String, action: String) throws(ZMQError) {
        let socket = unsafe try open(action)
        defer { requestCheck() }
        guard unsafe zmq_setsockopt(socket, option, prefix, prefix.utf8.count) == 0 else { throw .last(action) }
    }

    private static func descriptor(of socket: UnsafeMutableRawPointer) throws(ZMQError) -> CInt {
        var descriptor: CInt = -1
        var size = MemoryLayout<CInt>.size
        guard unsafe zmq_getsockopt(socket, ZMQ_FD, &descriptor, &size) == 0 else {
            throw .last("watch a socket")
        }
        return descriptor
    }

    private static func lastEndpoint(of socket: UnsafeMutableRawPointer) throws(ZMQError) -> String {
        var text = [CChar](repeating: 0, count: 1024)
        var size = text.count
        guard unsafe zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, &text, &size) == 0 else {
            throw .last("read the endpoint of a socket")
        }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

extension ZMQSocket: TickEndFlushing {}

extension ZMQSocket.Kind {
    fileprivate var type: CInt {
        switch self {
        case .router: ZMQ_ROUTER
        case .dealer: ZMQ_DEALER
        case .push: ZMQ_PUSH
        case .pull: ZMQ_PULL
        case .pub: ZMQ_PUB
        case .sub: ZMQ_SUB
        case .xpub: ZMQ_XPUB
        case .req: ZMQ_REQ
        case .rep: ZMQ_REP
        case .pair: ZMQ_PAIR
        }
    }
}
