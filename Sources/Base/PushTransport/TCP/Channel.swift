import Glibc
package import PushLoop

/// The handler of the events of a channel. Its functions run on the channel's loop, and never from within a call on the
/// channel.
package protocol ChannelHandler: AnyObject {
    /// Called when the connection is established, including TLS. The handler may write from now on.
    func channelOpened(_ channel: Channel)

    /// Called with decrypted bytes, which are valid during the call.
    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer)

    /// Called at the end of a tick if the channel has room: write all pending output now. Not called while the peer
    /// reads too slowly.
    func channelWantsOutput(_ channel: Channel)

    /// Called when the system has taken output; ``Channel/outputBacklog`` is what it has not taken yet.
    func channelSentOutput(_ channel: Channel)

    /// Called when the peer has ended its side of an open connection, by the end of TCP or by close_notify. If the handler
    /// returns true, the channel stays open for output, and the handler closes it; otherwise the channel closes at once,
    /// and unsent output is lost.
    func channelInputEnded(_ channel: Channel) -> Bool

    /// Called once when the channel has closed. No further call follows.
    func channel(_ channel: Channel, closed reason: ChannelClosure)
}

extension ChannelHandler {
    package func channelSentOutput(_ channel: Channel) {}

    package func channelInputEnded(_ channel: Channel) -> Bool { false }
}

package enum ChannelClosure: Error, Sendable, CustomStringConvertible {
    /// This side closed the connection.
    case byUs
    /// The peer closed the connection properly.
    case byPeer
    /// The connection was reset, or TCP ended without a TLS close_notify.
    case lost(SystemError?)
    case tls(TLSError)
    /// This side gave up waiting, for example for the handshake.
    case timedOut(String)

    package var description: String {
        switch self {
        case .byUs: "closed by this side"
        case .byPeer: "closed by the peer"
        case .lost(let error?): "connection lost: \(error)"
        case .lost(nil): "connection lost: the peer disconnected without closing TLS"
        case .tls(let error): "\(error)"
        case .timedOut(let what): what
        }
    }
}

/// A TCP connection on a loop, with or without TLS. It collects output during a tick and sends it at the end of the
/// tick. Confined to its loop.
package final class Channel {
    /// The amount of unsent output above which the handler is not asked for more.
    private static let outputHighWater = 256 * 1024
    /// The maximum number of reads per event, so that other descriptors get their turn.
    private static let readsPerTurn = 4
    private static let readSize = 64 * 1024
    /// The time that a peer has to read the remaining output and to close, after this side closes.
    package static let closingTime: Duration = .seconds(5)
    /// The same limit after TLS has failed, when only an alert is left to be read.
    private static let failingTime: Duration = .seconds(1)
    /// The maximum number of reads after a failed write. It covers more than the kernel buffers.
    private static let lastReads = 256

    private enum State {
        /// Can transition to: open (TLS established, or no TLS), closing, closed.
        case opening
        /// Can transition to: closing, closed.
        case open
        /// Written output is sent and input is dropped. Can transition to: lingering, closed.
        case closing
        /// All output was sent and the write side is shut down. Input is dropped until the peer closes as well, because
        /// closing a socket with unread bytes resets the connection, and the peer would lose the last output. Can
        /// transition to: closed.
        case lingering
        /// The watch and the handler are gone.
        case closed
    }

    /// The way in which this side closes the connection.
    package enum Closing {
        /// The channel waits until the peer has closed as well. When the time is over, it resets the connection.
        case resets
        /// The channel waits until the peer has closed as well. When the time is over, it closes the connection, and
        /// the system goes on sending the output that it has taken.
        case waits
        /// The channel does not wait for the peer, except if the peer has sent bytes that were not read: the system
        /// would reset the connection, and the peer might lose the last output.
        case leaves
    }

    package let loop: EventLoop
    package let peer: SocketAddress?
    /// The user at the other end of a Unix socket; nil for any other socket.
    package let user: UInt32?
    package weak var handler: (any ChannelHandler)?
    private var socket: Socket
    private let tls: TLSEngine?
    private var watch: Watch?
    private var state = State.opening
    private var plainOutput: ByteQueue
    private var closing = Closing.resets
    private var closingTimer: TimerID?
    /// Whether the peer has ended its side, and the handler still sends.
    private var hasInputEnded = false
    /// The reason that the handler receives when the channel has closed after lingering.
    private var lingeringReason = ChannelClosure.byUs
    private var isFlushRequested = false
    private var retainedWhileOpen: Channel?
    /// Asked right before each write to the socket. If it returns false, the connection is reset, and what was not sent
    /// is lost.
    package var mayWrite: (() -> Bool)?

    /// The number of reads that returned bytes. Together with ``bytesReceived`` it shows how well the peer coalesces
    /// its writes.
    package private(set) var readCount: UInt64 = 0
    package private(set) var bytesReceived: UInt64 = 0
    package private(set) var bytesSent: UInt64 = 0
    /// The number of sent bytes that the peer's TCP has acknowledged. The peer itself may not have read them yet. Costs
    /// a system call.
    package var bytesAcknowledged: UInt64 {
        let waiting = UInt64(socket.unacknowledged)
        return waiting < bytesSent ? bytesSent - waiting : 0
    }
    /// The time when bytes were last received, for keep-alive checks.
    package private(set) var lastReceived: MonotonicTime

    /// Creates a channel. The loop retains the channel until it has closed; the handler is held weakly.
    ///
    /// - Parameter keepsBuffers: Whether the channel keeps a buffer while there is nothing in it.
    package init(
        _ socket: consuming Socket, on loop: EventLoop, tls: TLSEngine?, keepsBuffers: Bool = true,
        handler: (any ChannelHandler)?
    ) {
        self.loop = loop
        plainOutput = ByteQueue(keepingCapacity: keepsBuffers ? ByteQueue.burstCapacity : 0)
        self.tls = tls
        self.handler = handler
        peer = .peer(of: socket.descriptor)
        user = (peer?.port ?? 0) > 0 ? nil : SocketAddress.user(of: socket.descriptor)
        lastReceived = loop.now
        self.socket = socket
        retainedWhileOpen = self
        let watch = Watch(self.socket.descriptor, on: loop) { [unowned self] in ready($0) }
        self.watch = watch
    }

    /// Starts the TLS handshake. Without TLS, the channel opens at the end of this tick.
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

    /// The number of bytes that the socket has not accepted yet.
    package var outputBacklog: Int {
        plainOutput.count + (tls?.output.count ?? 0)
    }

    /// Whether the handler should pause its output.
    package var isCongested: Bool { outputBacklog >= Self.outputHighWater }

    /// Appends to the output that is sent at the end of the tick. Ignored once the channel is closing.
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

    /// Appends to the output as ``write(_:)-(UnsafeRawBufferPointer)``: `body` writes up to `capacity` bytes and returns
    /// their number.
    package func write(upTo capacity: Int, _ body: (UnsafeMutableRawBufferPointer) -> Int) {
        switch state {
        case .opening, .open:
            unsafe plainOutput.append(upTo: capacity, body)
            askForFlush()
        case .closing, .lingering, .closed:
            break
        }
    }

    /// Requests a call of `channelWantsOutput` at the end of this tick.
    package func askForFlush() {
        guard !isFlushRequested else { return }
        if case .closed = state { return }
        isFlushRequested = true
        loop.flushAtTickEnd(self)
    }

    /// Sends the written output and the TLS close_notify, and closes when the peer has closed as well, or after a time.
    package func close(within time: Duration = Channel.closingTime, _ closing: Closing = .resets) {
        switch state {
        case .opening:
            end(.byUs)
        case .open:
            state = .closing
            self.closing = closing
            if !hasInputEnded { isReadingPaused = false }
            limitClosing(to: time)
            askForFlush()
        case .closing, .lingering, .closed:
            break
        }
    }

    private func limitClosing(to time: Duration) {
        loop.endAtStop(self)
        closingTimer = loop.schedule(after: time) { [unowned self] in
            closingTimer = nil
            if case .resets = closing { socket.closeHard() }
            end(lingeringReason)
        }
    }

    /// Waits for the peer after the last output was sent, unless there is nothing to wait for.
    private func linger() {
        if hasInputEnded { return end(.byPeer) }
        state = .lingering
        socket.endSending()
        guard case .leaves = closing else { return }
        let scratch = unsafe ReadScratch.ofThisThread()
        if case .bytes = unsafe socket.receive(into: scratch) { return }
        end(lingeringReason)
    }

    /// Closes at once. Unsent output is lost, and so is output that the peer has not read if the peer has sent bytes that
    /// were not read.
    package func drop() {
        tls?.close()
        if tls != nil { _ = sendOutput() }
        end(.byUs)
    }

    /// Closes at once with a reset. Unsent output is lost.
    package func abort() {
        socket.closeHard()
        end(.byUs)
    }

    /// Closes at once with a reset and passes the reason to the handler.
    package func fail(_ reason: ChannelClosure) {
        socket.closeHard()
        end(reason)
    }

    /// Whether reading is paused. Input then stays in the kernel, so that TCP flow control slows the peer down.
    package var isReadingPaused = false {
        didSet {
            guard isReadingPaused != oldValue, !hasInputEnded, let watch else { return }
            if isReadingPaused { watch.interest.remove(.readable) } else { watch.interest.insert(.readable) }
        }
    }

    // MARK: Reading

    private func ready(_ readiness: Watch.Readiness) {
        if readiness.contains(.readable) { receive() }
        if readiness.contains(.writable) { askForFlush() }
    }

    private func receive() {
        for _ in 0..<Self.readsPerTurn where !isReadingPaused && !hasInputEnded {
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
        if tls.state == .inputEnded, !hasInputEnded { peerEnded() }
    }

    private func deliver(_ plain: UnsafeRawBufferPointer) {
        openIfEstablished()
        guard case .open = state else { return }
        unsafe handler?.channel(self, received: plain)
    }

    private func openIfEstablished() {
        guard case .opening = state, tls?.canWrite ?? true else { return }
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
        if stillSends {
            if case .closed = state { return }
            hasInputEnded = true
            // The end stays readable.
            watch?.interest.remove(.readable)
            return
        }
        if let tls {
            tls.close()
            _ = sendOutput()
        }
        end(.byPeer)
    }

    /// Whether there is output for a peer that has ended its side.
    private var stillSends: Bool {
        switch state {
        case .open: !hasInputEnded && handler?.channelInputEnded(self) == true
        case .closing: outputBacklog > 0
        case .opening, .lingering, .closed: false
        }
    }

    /// Reads the remaining input after a failed write. The peer has closed the connection, and its last bytes may
    /// contain the reason (a GOAWAY, an error packet). These bytes arrived before the kernel learned of the end.
    private func receiveRemainingInput() {
        for _ in 0..<Self.lastReads where !isReadingPaused {
            if case .closed = state { return }
            let scratch = unsafe ReadScratch.ofThisThread()
            guard case .bytes(let count) = unsafe socket.receive(into: scratch) else { return }
            unsafe take(UnsafeRawBufferPointer(rebasing: scratch[..<count]))
        }
    }

    // MARK: Writing

    private func encryptOutput() throws(TLSError) {
        guard let tls, tls.canWrite, !plainOutput.isEmpty else { return }
        try unsafe plainOutput.withBytes { (bytes) throws(TLSError) in try unsafe tls.write(bytes) }
        plainOutput.removeAll()
    }

    /// Sends the output. Returns nil if all of it was sent, or else the state of the socket: full or failed.
    private func sendOutput() -> Socket.Transfer? {
        if let tls { send(&tls.output) } else { send(&plainOutput) }
    }

    private func send(_ bytes: inout ByteQueue) -> Socket.Transfer? {
        while !bytes.isEmpty {
            if let mayWrite, !mayWrite() {
                socket.closeHard()
                return .failed(SystemError(number: ECANCELED))
            }
            let transfer = unsafe bytes.withBytes { unsafe socket.send($0) }
            guard case .bytes(let count) = transfer else { return transfer }
            bytes.consume(count)
            bytesSent += UInt64(count)
        }
        return nil
    }

    /// Sends the TLS alert that names the error. If the socket is full, the peer does not receive it.
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
        loop.hasEnded(self)
        socket.close()
        let handler = handler
        self.handler = nil
        let keep = retainedWhileOpen.take()
        // Called later, so that a handler never gets the end from within its own call on the channel.
        let report = LoopBound((handler, keep, self), on: loop)
        loop.execute { report.wrapped.0?.channel(report.wrapped.2, closed: reason) }
    }
}

extension Channel: EndingAtStop {
    package func endAtStop() {
        end(lingeringReason)
    }
}

extension Channel: TickEndFlushing {
    package func flushAtTickEnd() {
        isFlushRequested = false
        openIfEstablished()
        let sentBefore = bytesSent
        defer { if bytesSent != sentBefore, case .open = state { handler?.channelSentOutput(self) } }
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
                    linger()
                    return
                }
            case .failed(let error)?:
                receiveRemainingInput()
                end(.lost(error))
                return
            default:
                watch?.interest.insert(.writable)
                return
            }
        }
    }
}
