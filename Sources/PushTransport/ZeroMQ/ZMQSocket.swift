private import CLinux
private import CZeroMQ
private import Glibc
package import PushLoop

/// A ZeroMQ socket on a loop: what arrives is delivered in batches, what is sent never blocks.
///
/// Confined to its loop: made, used and closed there. libzmq's descriptor tells of activity, not of messages, and is
/// silent about what other calls have noticed on the way; so the socket looks for itself after each batch and, once a
/// tick, after sending.
///
/// Its handlers are kept until `close`; capture their owner weakly or unowned. They may send, pause and close.
@safe
package final class ZMQSocket {
    package enum Kind: Hashable, Sendable {
        case router, dealer, push, pull, pub, sub, xpub, req, rep, pair
    }

    package let kind: Kind
    package let loop: EventLoop
    package let context: ZMQContext

    /// Called for each message. Messages wait in the socket while there is no handler. Of an XPUB each frame is a message
    /// of its own: see `ZMQSubscription`.
    package var onMessage: ((borrowing ZMQMessage) -> Void)? {
        didSet { requestCheck() }
    }
    /// Called once after each run of messages, for what is better done for many at once.
    package var onBatchEnd: (() -> Void)?
    /// Called for a message of more frames than `ZMQOutbox.maxFrames`, with the first of them and the full number.
    package var onMalformed: ((borrowing ZMQMessage, _ frameCount: Int) -> Void)?
    /// Called once after a send that would have blocked, when it is worth another try.
    package var onWritable: (() -> Void)?
    /// Called for each message that came by a connection, with its descriptor and the bytes that the message took on the
    /// wire, or less.
    var onSender: ((CInt, Int) -> Void)?
    /// Called when the socket closes because its context ends.
    package var onTerminated: (() -> Void)?

    private var handle: UnsafeMutableRawPointer?
    private var watch: Watch?
    private weak var monitor: ZMQMonitor?
    /// What is listened on with a descriptor that this side made, by the endpoint that `bind` returned.
    private var listeners: [String: ZMQListener] = [:]
    private let backlog: Int
    private let ignoresResets: Bool
    private let messagesPerTick: Int
    private let ipcMode: mode_t
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
        messagesPerTick = options.messagesPerTick
        backlog = options.backlog
        ignoresResets = options.ignoresResets
        ipcMode = options.ipcMode
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
        precondition(unsafe handle == nil, "a ZeroMQ socket must be closed before it goes")
    }

    package var isClosed: Bool { unsafe handle == nil }

    /// Closes the socket; what is queued is still sent for as long as `linger` allows. No handler is called again.
    /// May be called twice.
    package func close() {
        guard let socket = unsafe handle else { return }
        loop.assertOnLoop()
        // Before the socket: libzmq closes the descriptor.
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

    /// Listens, and says where: with the port that the system chose for `tcp://127.0.0.1:*`.
    ///
    /// The file of an `ipc://` endpoint has the permissions of `ipcMode`. It stays behind after the close, and is replaced
    /// by the next bind if nobody listens on it; anything else that is there is an error.
    @discardableResult
    package func bind(_ endpoint: String) throws(ZMQError) -> String {
        let socket = unsafe try open("bind \(endpoint)")
        try Self.checkPort(of: endpoint, "bind")
        let listener = try ZMQListener.make(for: endpoint, backlog: backlog, ignoresResets: ignoresResets)
        if let listener {
            unsafe try Self.lend(try listener.copy(for: endpoint), to: socket, for: endpoint)
        } else if let path = IPCListener.path(of: endpoint) {
            let descriptor = try IPCListener.listen(at: path, mode: ipcMode, backlog: backlog)
            unsafe try Self.lend(descriptor, to: socket, for: endpoint)
        } else {
            guard unsafe zmq_bind(socket, endpoint) == 0 else { throw .last("bind \(endpoint)") }
        }
        requestCheck()
        let bound = unsafe try Self.lastEndpoint(of: socket)
        listeners[bound] = listener
        return bound
    }

    /// Whether new connections are taken, where this side made the listener: on TCP by a numeric address. Otherwise
    /// they wait in the kernel, and connections that stand live on (unbinding would end them).
    package var isAccepting: Bool {
        get { listeners.values.allSatisfy(\.isAccepting) }
        set { for listener in listeners.values { listener.isAccepting = newValue } }
    }

    /// Binds with a descriptor that listens. libzmq closes it in the end.
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

    /// Ends all connections, as `unbind` does, and listens on without a pause. False where this side did not make the
    /// listener: see `isAccepting`.
    func bindAnew() throws(ZMQError) -> Bool {
        let socket = unsafe try open("bind again")
        for (endpoint, listener) in listeners {
            let descriptor = try listener.copy(for: endpoint)
            // That it is not bound, after a try that failed, is fine.
            unsafe zmq_unbind(socket, endpoint)
            unsafe try Self.lend(descriptor, to: socket, for: endpoint)
        }
        requestCheck()
        return !listeners.isEmpty
    }

    /// Connects, and connects again whenever the connection is lost. Whether it stands, a monitor tells.
    package func connect(_ endpoint: String) throws(ZMQError) {
        let socket = unsafe try open("connect to \(endpoint)")
        try Self.checkPort(of: endpoint, "connect to")
        guard unsafe zmq_connect(socket, endpoint) == 0 else { throw .last("connect to \(endpoint)") }
        requestCheck()
    }

    /// - Parameter endpoint: what `bind` returned.
    package func unbind(_ endpoint: String) throws(ZMQError) {
        let socket = unsafe try open("unbind \(endpoint)")
        guard unsafe zmq_unbind(socket, endpoint) == 0 else { throw .last("unbind \(endpoint)") }
        listeners[endpoint] = nil
        requestCheck()
    }

    package func disconnect(_ endpoint: String) throws(ZMQError) {
        let socket = unsafe try open("disconnect from \(endpoint)")
        guard unsafe zmq_disconnect(socket, endpoint) == 0 else { throw .last("disconnect from \(endpoint)") }
        requestCheck()
    }

    /// SUB: receives what begins with `prefix`.
    package func subscribe(_ prefix: String) throws(ZMQError) {
        try setSubscription(ZMQ_SUBSCRIBE, prefix, "subscribe to \"\(prefix)\"")
    }

    package func unsubscribe(_ prefix: String) throws(ZMQError) {
        try setSubscription(ZMQ_UNSUBSCRIBE, prefix, "unsubscribe from \"\(prefix)\"")
    }

    /// Tells what becomes of the connections of this socket. A socket has one monitor at a time: the next one stops the
    /// one before.
    @discardableResult
    package func monitor(_ handler: @escaping (ZMQMonitorEvent) -> Void) throws(ZMQError) -> ZMQMonitor {
        let socket = unsafe try open("monitor")
        let made = unsafe try ZMQMonitor(of: self, handle: socket, handler: handler)
        monitor = made
        return made
    }

    /// Nothing is written to the monitor after this, unless another one has taken its place: then it was stopped before.
    func stopMonitoring(by stopping: ZMQMonitor) {
        guard stopping === monitor, let socket = unsafe handle else { return }
        monitor = nil
        unsafe zmq_socket_monitor(socket, nil, 0)
    }

    // MARK: Receiving

    /// Leaves messages where they are. When the queues fill up, the peers are held back.
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

    /// Sends the frames that `build` puts together as one message: all of them or none.
    package func send(_ build: (inout ZMQOutbox) -> Void) -> ZMQSendResult {
        loop.assertOnLoop()
        guard let socket = unsafe handle else { return .failed(.closed("send")) }
        build(&outbox)
        guard !outbox.hasTooManyFrames, outbox.count > 0 else {
            outbox.clear()
            return .failed(
                ZMQError(.tooManyFrames, "cannot send: a message needs 1 to \(ZMQOutbox.maxFrames) frames"))
        }
        var attempt = unsafe outbox.transmit(to: socket)
        if case .full = attempt, unsafe isWritableAfterAll(socket) {
            attempt = unsafe outbox.transmit(to: socket)
        }
        outbox.clear()
        return finishSending(attempt)
    }

    /// A send looks at the socket's mailbox only now and then, so "full" may be old news. Rare, and then worth a look.
    private func isWritableAfterAll(_ socket: UnsafeMutableRawPointer) -> Bool {
        unsafe events(of: socket).map { $0 & ZMQ_POLLOUT != 0 } ?? false
    }

    private func finishSending(_ attempt: ZMQOutbox.Attempt) -> ZMQSendResult {
        switch attempt {
        case .sent:
            // The send may have taken the signal for a message that came in, or for room that somebody waits for.
            if kind != .push || wantsWritable { requestCheck() }
            return .sent
        case .full, .peerGone:
            wantsWritable = true
            if kind == .router { scheduleRetry() } else { requestCheck() }
            return .wouldBlock
        case .unreachable:
            requestCheck()
            return .unreachable
        case .failed(let number):
            requestCheck()
            return .failed(ZMQError(number: number, "send"))
        }
    }

    /// How long until a ROUTER that has seen no activity tries its full peers again.
    private static let retryInterval = Duration.milliseconds(5)

    /// A ROUTER calls itself writable when any of its peers is, so that says nothing about the one that was full. Its
    /// owner tries again when something happened on the socket, and otherwise after a moment.
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

    /// Looks at the socket at the end of this tick, or, if it ends right now, of the next.
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

    /// Does what the socket is ready for until nothing is left, or until it is somebody else's turn.
    private func service() {
        withExtendedLifetime(self) {
            var left = messagesPerTick
            while let socket = unsafe handle {
                guard let events = unsafe events(of: socket) else { return terminate() }
                let writes = events & ZMQ_POLLOUT != 0 && wantsWritable && kind != .router
                if writes { notifyWritable() }
                let receives = events & ZMQ_POLLIN != 0 && onMessage != nil && !isPaused
                let received = unsafe receives ? receive(from: socket, upTo: left) : 0
                if received == 0 && !writes { return }
                left -= max(received, 1)
                if left <= 0 {
                    // The descriptor will not fire again for what is left.
                    requestCheck()
                    return
                }
            }
        }
    }

    /// How many messages it delivered. Whatever keeps libzmq from giving more, the next look at the socket tells.
    private func receive(from socket: UnsafeMutableRawPointer, upTo limit: Int) -> Int {
        guard let handler = onMessage else { return 0 }
        var usedFrames = 0
        var received = 0
        receiving: while received < limit, !isPaused, unsafe handle == socket {
            switch unsafe inbox.receive(from: socket, frameByFrame: kind == .xpub) {
            case .message(let count):
                usedFrames = max(usedFrames, count)
                if hearFrom(inbox.message(frames: count)) {
                    handler(inbox.message(frames: count))
                }
            case .oversized(let count):
                usedFrames = max(usedFrames, count)
                if hearFrom(inbox.message(frames: count)) {
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

    /// ZMTP allows a routing id this many bytes. libzmq holds its own clients to that, and no others.
    private static let longestRoutingID = 255

    /// The one place that decides about senders: whether a message is handed on. What comes from a peer whose routing id
    /// is too long is dropped, and its connection is ended. So whoever reads from a ROUTER may count on short ids.
    private func hearFrom(_ message: borrowing ZMQMessage) -> Bool {
        // Of a ROUTER the first frame did not come by the wire.
        let ownFrame = kind == .router ? message.byteCount(ofFrame: 0) : nil
        if let ownFrame, ownFrame > Self.longestRoutingID {
            // libzmq may have closed the connection by now, and have that of another client under its number.
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

    /// Ends a connection of TCP: nothing more of it is heard, and libzmq finds its end behind what came before. False if
    /// it is none of this socket, or another client has the descriptor now.
    ///
    /// Only the reading half is shut, for then the kernel does not call it a hang-up: one of those ends the process if
    /// libzmq is not reading from the connection just then (libzmq issues 3937 and 4364).
    func hangUp(on descriptor: CInt, from peer: SocketAddress) -> Bool {
        guard SocketAddress.peer(of: descriptor) == peer, let local = SocketAddress.local(of: descriptor),
            listeners.values.contains(where: { $0.port == local.port })
        else { return false }
        // What a peer goes on sending would be read before the end.
        _ = CLinux_hear_nothing(descriptor)
        return shutdown(descriptor, CInt(SHUT_RD)) == 0
    }

    private func terminate() {
        let tell = onTerminated
        close()
        tell?()
    }

    // MARK: libzmq

    /// What the socket is ready for; nil when the context has ended.
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

    /// libzmq cuts a port down to 16 bits: 99999 would be 34463.
    private static func checkPort(of endpoint: String, _ action: String) throws(ZMQError) {
        guard endpoint.hasPrefix("tcp://"), let colon = endpoint.lastIndex(of: ":") else { return }
        let port = endpoint[endpoint.index(after: colon)...]
        guard let number = Int(port), !(0...65535).contains(number) else { return }
        throw ZMQError(.invalidEndpoint, "cannot \(action) \(endpoint): ports end at 65535")
    }

    private func setSubscription(_ option: CInt, _ prefix: String, _ action: String) throws(ZMQError) {
        let socket = unsafe try open(action)
        guard unsafe zmq_setsockopt(socket, option, prefix, prefix.utf8.count) == 0 else { throw .last(action) }
        requestCheck()
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
            throw .last("learn where a socket is bound")
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
