import PushLoop
import PushModel
import PushTransport
import PushWire

/// One connection to the feedback service. The owner reads tuples at its own pace; while it does not read, the rest of
/// the list stays in the kernel's buffers.
actor FeedbackReader {
    /// The end of a list.
    enum End: Sendable, Equatable {
        /// The service closed the connection; nil if the list was complete, or the part of a tuple that was cut off.
        case complete(FeedbackTruncation?)
        case failed(String)
    }

    struct Piece: Sendable {
        var tuples: [FeedbackTuple] = []
        /// The end of the list; set in the last piece only.
        var end: End?
        /// The number of malformed tuples so far, which were skipped.
        var malformed: UInt64 = 0
    }

    private nonisolated let loop: EventLoop
    private let endpoint: HostPort
    private let settings: FeedbackPoller.Settings
    private var decoder = FeedbackDecoder()
    private var connector: TCPConnector?
    private var channel: Channel?
    private var timer: TimerID?
    private var readingSince = MonotonicTime(nanoseconds: 0)
    private var tuples: [FeedbackTuple] = []
    private var end: End?
    private var waiter: CheckedContinuation<Piece, Never>?

    /// Starts to connect. The loop keeps a reference until the connection has ended.
    init(on loop: EventLoop, to endpoint: HostPort, settings: FeedbackPoller.Settings) {
        self.loop = loop
        self.endpoint = endpoint
        self.settings = settings
        loop.execute { self.assumeIsolated { $0.begin() } }
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// Returns the next tuples, at most one batch, or the end. Only one caller may wait at a time.
    func next() async -> Piece {
        if let piece = piece() { return piece }
        return await withCheckedContinuation { continuation in
            precondition(waiter == nil, "FeedbackReader.next() was called twice at a time")
            waiter = continuation
            if let channel, channel.isReadingPaused {
                channel.isReadingPaused = false
                readingSince = loop.now
            }
        }
    }

    /// Closes the connection. Tuples that were read before can still be taken.
    func cancel() {
        finish(.failed("stopped"))
    }

    private func piece() -> Piece? {
        guard !tuples.isEmpty || end != nil else { return nil }
        var piece = Piece(malformed: decoder.malformed)
        piece.tuples = Array(tuples.prefix(settings.batchSize))
        tuples.removeFirst(piece.tuples.count)
        if tuples.isEmpty { piece.end = end }
        return piece
    }

    private func wake() {
        guard let waiter, let piece = piece() else { return }
        self.waiter = nil
        waiter.resume(returning: piece)
    }

    private func begin() {
        guard end == nil else { return }
        let deadline = loop.now + settings.connectTimeout
        connector = TCPConnector(on: loop, to: endpoint, resolver: settings.resolver, deadline: deadline) { result in
            self.connected(result)
        }
        timer = loop.schedule(at: deadline) {
            self.timer = nil
            self.finish(
                .failed("\(self.endpoint): timed out: no TLS connection within \(self.settings.connectTimeout)"))
        }
    }

    private func connected(_ result: consuming TCPConnectResult) {
        connector = nil
        switch consume result {
        case .failed(let error):
            finish(.failed(error.message))
        case .connected(let socket, _):
            do throws(TLSError) {
                let tls = try TLSEngine(context: settings.tls, role: .client(serverName: settings.serverName))
                let channel = Channel(socket, on: loop, tls: tls, handler: self)
                self.channel = channel
                channel.start()
            } catch {
                finish(.failed("\(endpoint): \(error.message)"))
            }
        }
    }

    private func opened() {
        guard end == nil else { return }
        if let timer { loop.cancel(timer) }
        readingSince = loop.now
        watchForSilence()
    }

    private func watchForSilence() {
        timer = loop.schedule(at: silenceEnds) {
            self.timer = nil
            self.lookForSilence()
        }
    }

    private var silenceEnds: MonotonicTime {
        max(channel?.lastReceived ?? readingSince, readingSince) + settings.silenceLimit
    }

    private func lookForSilence() {
        guard end == nil, let channel else { return }
        // Paused reading does not count as silence of the peer.
        if channel.isReadingPaused { readingSince = loop.now }
        if loop.now >= silenceEnds {
            finish(.failed("\(endpoint): timed out: no data for \(settings.silenceLimit) before the end of the list"))
        } else {
            watchForSilence()
        }
    }

    private func received(_ bytes: [UInt8]) {
        guard end == nil else { return }
        decoder.decode(bytes, into: &tuples)
        wake()
        // Without a waiting caller reading pauses, and the kernel buffers the rest. The next call resumes it.
        if waiter == nil { channel?.isReadingPaused = true }
    }

    private func closed(_ reason: ChannelClosure) {
        switch reason {
        case .byPeer:
            do throws(FeedbackTruncation) {
                try decoder.finish()
                finish(.complete(nil))
            } catch {
                finish(.complete(error))
            }
        default:
            finish(.failed("\(endpoint): \(reason)"))
        }
    }

    private func finish(_ end: End) {
        guard self.end == nil else { return }
        self.end = end
        connector?.cancel()
        connector = nil
        if let timer { loop.cancel(timer) }
        timer = nil
        if let channel {
            channel.handler = nil
            channel.abort()
        }
        channel = nil
        wake()
    }
}

// The channel calls its handler on the loop, which is the executor of the actor.
extension FeedbackReader: ChannelHandler {
    nonisolated func channelOpened(_ channel: Channel) {
        assumeIsolated { $0.opened() }
    }

    nonisolated func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {
        let bytes = unsafe Array(bytes)
        assumeIsolated { $0.received(bytes) }
    }

    nonisolated func channelWantsOutput(_ channel: Channel) {}

    nonisolated func channel(_ channel: Channel, closed reason: ChannelClosure) {
        assumeIsolated { $0.closed(reason) }
    }
}
