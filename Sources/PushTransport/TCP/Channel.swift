import Glibc
package import PushLoop

/// Takes what a channel brings. Called on the channel's loop, never from within a call on the channel.
package protocol ChannelHandler: AnyObject {
    /// The connection stands, TLS included: from now on bytes may be written.
    func channelOpened(_ channel: Channel)

    /// Plain bytes, valid during the call.
    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer)

    /// The tick ends and the channel has room: write what is ready, now. Not called while the peer reads too slowly.
    func channelWantsOutput(_ channel: Channel)

    /// The end, once; nothing is called after it.
    func channel(_ channel: Channel, closed reason: ChannelClosure)
}

package enum ChannelClosure: Error, Sendable, CustomStringConvertible {
    /// This side closed it.
    case byUs
    /// The peer ended it in order.
    case byPeer
    /// The peer vanished in the middle: reset, or the end of TCP without the end of TLS.
    case lost(SystemError?)
    case tls(TLSError)
    /// This side gave up waiting, e.g. for the handshake.
    case timedOut(String)

    package var description: String {
        switch self {
        case .byUs: "closed by this side"
        case .byPeer: "closed by the peer"
        case .lost(let error?): "connection lost: \(error)"
        case .lost(nil): "connection lost: the peer went away without closing it"
        case .tls(let error): "\(error)"
        case .timedOut(let what): what
        }
    }
}

/// One TCP connection on a loop, with or without TLS: bytes are gathered during a tick and sent at its end.
/// Confined to its loop.
package final class Channel {
    /// Above this much that the socket has not taken, the handler is asked for no more.
    private static let outputHighWater = 256 * 1024
    /// Read in one turn before other descriptors get theirs.
    private static let readsPerTurn = 4
    private static let readSize = 64 * 1024
    /// How long a peer may take to read what is left and to end, once this side closes.
    private static let closingTime: Duration = .seconds(5)
    /// The same when TLS has failed: only an alert is left to be read.
    private static let failingTime: Duration = .seconds(1)
    /// Read of a peer that has gone: more than a kernel holds of it.
    private static let lastReads = 256

    private enum State {
        /// Can transition to: open (TLS established, or no TLS), closing, closed.
        case opening
        /// Can transition to: closing, closed.
        case open
        /// What was written is sent; what comes in is dropped. Can transition to: lingering, closed.
        case closing
        /// Everything was sent and our side is shut. What comes in is dropped until the peer ends as well: to close
        /// a socket that holds unread bytes resets it, and the peer would lose our last words. Can transition to: closed.
        case lingering
        /// No watch, no handler.
        case closed
    }

    package let loop: EventLoop
    package let peer: SocketAddress?
    package weak var handler: (any ChannelHandler)?
    private var socket: Socket
    private let tls: TLSEngine?
    private var watch: Watch?
    private var state = State.opening
    private var plainOutput = ByteQueue()
    private var closingTimer: TimerID?
    /// What the handler is told when the channel has closed after lingering.
    private var lingeringReason = ChannelClosure.byUs
    private var flushIsAsked = false
    private var retainedWhileOpen: Channel?

    /// How often the socket gave bytes: against `bytesReceived` it tells how well the peer coalesces.
    package private(set) var readCount: UInt64 = 0
    package private(set) var bytesReceived: UInt64 = 0
    package private(set) var bytesSent: UInt64 = 0
    /// Of `bytesSent`, what the peer's TCP has. The peer itself may not have read it yet. A system call.
    package var bytesAcknowledged: UInt64 {
        let waiting = UInt64(socket.unacknowledged)
        return waiting < bytesSent ? bytesSent - waiting : 0
    }
    /// When bytes last came in: what a keep-alive looks at.
    package private(set) var lastReceived: MonotonicTime

    /// The loop keeps the channel until it has closed; the handler is held weakly.
    package init(_ socket: consuming Socket, on loop: EventLoop, tls: TLSEngine?, handler: (any ChannelHandler)?) {
        self.loop = loop
        self.tls = tls
        self.handler = handler
        peer = .peer(of: socket.descriptor)
        lastReceived = loop.now
        self.socket = socket
        retainedWhileOpen = self
        let watch = Watch(self.socket.descriptor, on: loop) { [unowned self] in ready($0) }
        self.watch = watch
    }

    /// Begins: with TLS the handshake, without it the channel opens at once (at the end of this tick).
    package func start() {
        watch?.interest = .readable
        do throws(TLSError) {
            try tls?.start()
        } catch {
            end(.tls(error))
            return
        }
        askForFlush()
    }

    package var isOpen: Bool {
        if case .open = state { return true }
        return false
    }

    package var session: TLSSessionInfo? { tls?.session }

    /// What the socket has not taken yet.
    package var outputBacklog: Int {
        plainOutput.count + (tls?.output.count ?? 0)
    }

    /// Whether the handler should hold back.
    package var isCongested: Bool { outputBacklog >= Self.outputHighWater }

    /// Appends to what goes out at the end of the tick. Ignored once it closes.
    package func write(_ bytes: UnsafeRawBufferPointer) {
        switch state {
        case .opening, .open:
            unsafe plainOutput.append(bytes)
            askForFlush()
        case .closing, .lingering, .closed:
            break
        }
    }

    package func write(_ bytes: [UInt8]) {
        unsafe bytes.withUnsafeBytes { unsafe write($0) }
    }

    /// Has `channelWantsOutput` called at the end of this tick.
    package func askForFlush() {
        guard !flushIsAsked else { return }
        if case .closed = state { return }
        flushIsAsked = true
        loop.flushAtTickEnd(self)
    }

    /// Sends what was written, says goodbye, and closes when the peer has ended as well, or after 5 seconds.
    package func close() {
        switch state {
        case .opening:
            end(.byUs)
        case .open:
            state = .closing
            isReadingPaused = false
            limitClosing(to: Self.closingTime)
            askForFlush()
        case .closing, .lingering, .closed:
            break
        }
    }

    private func limitClosing(to time: Duration) {
        closingTimer = loop.schedule(after: time) { [unowned self] in
            closingTimer = nil
            socket.closeHard()
            end(lingeringReason)
        }
    }

    /// Closes at once with a reset; what was not sent is lost.
    package func abort() {
        socket.closeHard()
        end(.byUs)
    }

    /// Closes at once and tells the handler why.
    package func fail(_ reason: ChannelClosure) {
        socket.closeHard()
        end(reason)
    }

    /// Leaves what arrives in the kernel, so that the peer feels it.
    package var isReadingPaused = false {
        didSet {
            guard isReadingPaused != oldValue, let watch else { return }
            if isReadingPaused { watch.interest.remove(.readable) } else { watch.interest.insert(.readable) }
        }
    }

    // MARK: Reading

    private func ready(_ readiness: Watch.Readiness) {
        if readiness.contains(.readable) { receive() }
        if readiness.contains(.writable) { askForFlush() }
    }

    private func receive() {
        for _ in 0..<Self.readsPerTurn where !isReadingPaused {
            if case .closed = state { return }
            let scratch = unsafe ReadScratch.ofThisThread()
            let transfer = unsafe socket.receive(into: scratch)
            switch transfer {
            case .bytes(let count):
                readCount += 1
                bytesReceived += UInt64(count)
                lastReceived = loop.now
                unsafe take(UnsafeRawBufferPointer(rebasing: scratch[..<count]))
                if count < Self.readSize { return }
            case .wouldBlock:
                return
            case .ended:
                peerEnded()
                return
            case .failed(let error):
                if case .lingering = state { end(lingeringReason) } else { end(.lost(error)) }
                return
            }
        }
    }

    private func take(_ bytes: UnsafeRawBufferPointer) {
        if case .lingering = state { return }
        guard let tls else {
            unsafe deliver(bytes)
            return
        }
        do throws(TLSError) {
            try unsafe tls.receive(bytes) { plain in unsafe deliver(plain) }
        } catch {
            openIfEstablished()
            fail(in: error)
            return
        }
        if !tls.output.isEmpty { askForFlush() }
        if tls.state == .closed { peerEnded() }
    }

    private func deliver(_ plain: UnsafeRawBufferPointer) {
        openIfEstablished()
        guard case .open = state else { return }
        unsafe handler?.channel(self, received: plain)
    }

    private func openIfEstablished() {
        guard case .opening = state, tls == nil || tls?.state == .established else { return }
        state = .open
        handler?.channelOpened(self)
    }

    private func peerEnded() {
        if case .lingering = state {
            end(lingeringReason)
            return
        }
        if let tls {
            do throws(TLSError) {
                try tls.receiveEnd()
            } catch {
                if case .opening = state { end(.tls(error)) } else { end(.lost(nil)) }
                return
            }
        }
        end(.byPeer)
    }

    /// A write has failed, so the peer has gone. What it said before it went may tell why (a GOAWAY, an error packet):
    /// that has arrived, for the kernel heard of the end after it.
    private func receiveLastWords() {
        for _ in 0..<Self.lastReads where !isReadingPaused {
            if case .closed = state { return }
            let scratch = unsafe ReadScratch.ofThisThread()
            guard case .bytes(let count) = unsafe socket.receive(into: scratch) else { return }
            unsafe take(UnsafeRawBufferPointer(rebasing: scratch[..<count]))
        }
    }

    // MARK: Writing

    private func encryptOutput() throws(TLSError) {
        guard let tls, tls.state == .established, !plainOutput.isEmpty else { return }
        try unsafe plainOutput.withBytes { (bytes) throws(TLSError) in try unsafe tls.write(bytes) }
        plainOutput.removeAll()
    }

    /// Nil: everything went out. Otherwise the socket is full or broken.
    private func sendOutput() -> Socket.Transfer? {
        if let tls { send(&tls.output) } else { send(&plainOutput) }
    }

    private func send(_ bytes: inout ByteQueue) -> Socket.Transfer? {
        while !bytes.isEmpty {
            let transfer = unsafe bytes.withBytes { unsafe socket.send($0) }
            guard case .bytes(let count) = transfer else { return transfer }
            bytes.consume(count)
            bytesSent += UInt64(count)
        }
        return nil
    }

    /// An alert tells the peer why; if the socket is full, it will have to guess.
    private func fail(in error: TLSError) {
        lingeringReason = .tls(error)
        guard sendOutput() == nil else {
            end(lingeringReason)
            return
        }
        state = .lingering
        socket.endSending()
        if let closingTimer = closingTimer.take() { loop.cancel(closingTimer) }
        limitClosing(to: Self.failingTime)
    }

    private func end(_ reason: ChannelClosure) {
        if case .closed = state { return }
        state = .closed
        watch?.cancel()
        watch = nil
        if let closingTimer = closingTimer.take() { loop.cancel(closingTimer) }
        socket.close()
        let handler = handler
        self.handler = nil
        let keep = retainedWhileOpen.take()
        // Told after this call, so that a handler never hears of the end from within its own call on the channel.
        let report = LoopBound((handler, keep, self), on: loop)
        loop.execute { report.wrapped.0?.channel(report.wrapped.2, closed: reason) }
    }
}

extension Channel: TickEndFlushing {
    package func flushAtTickEnd() {
        flushIsAsked = false
        openIfEstablished()
        var hasMore = true
        while hasMore {
            if case .closed = state { return }
            if case .open = state, !isCongested { handler?.channelWantsOutput(self) }
            hasMore = isCongested
            do throws(TLSError) {
                try encryptOutput()
            } catch {
                end(.tls(error))
                return
            }
            if case .closing = state { tls?.close() }
            if case .lingering = state { return }
            switch sendOutput() {
            case nil:
                watch?.interest.remove(.writable)
                if case .closing = state {
                    state = .lingering
                    socket.endSending()
                    return
                }
            case .failed(let error)?:
                receiveLastWords()
                end(.lost(error))
                return
            default:
                watch?.interest.insert(.writable)
                return
            }
        }
    }
}

/// One read buffer a thread: what is read is used up before the next read.
@safe
private enum ReadScratch {
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let result = unsafe pthread_key_create(&key) { unsafe free($0) }
        precondition(result == 0, "cannot make a thread's read buffer")
        return key
    }()

    static func ofThisThread() -> UnsafeMutableRawBufferPointer {
        let size = 64 * 1024
        if let memory = unsafe pthread_getspecific(key) {
            return unsafe UnsafeMutableRawBufferPointer(start: memory, count: size)
        }
        guard let memory = unsafe malloc(size) else { fatalError("out of memory for a read buffer") }
        unsafe pthread_setspecific(key, memory)
        return unsafe UnsafeMutableRawBufferPointer(start: memory, count: size)
    }
}
