import PushLoop
import PushModel
import PushTransport
import PushWire

/// One connection to the feedback service, from which its owner takes tuples at its own pace: while it has enough, the
/// rest waits in the kernel.
actor FeedbackReader {
    /// How the list ended.
    enum End: Sendable, Equatable {
        /// In good order; nil, or what the service cut off.
        case complete(FeedbackTruncation?)
        case failed(String)
    }

    struct Piece: Sendable {
        var tuples: [FeedbackTuple] = []
        /// With the last piece.
        var end: End?
        /// Tuples so far that were none and were passed over.
        var malformed: UInt64 = 0
    }

    private nonisolated let loop: EventLoop
    private let place: HostPort
    private let settings: FeedbackPoller.Settings
    private var decoder = FeedbackDecoder()
    private var connector: TCPConnector?
    private var channel: Channel?
    private var timer: TimerID?
    private var readingSince = MonotonicTime(nanoseconds: 0)
    private var tuples: [FeedbackTuple] = []
    private var end: End?
    private var waiter: CheckedContinuation<Piece, Never>?

    /// Begins to connect. The loop keeps it until the connection has ended.
    init(on loop: EventLoop, to place: HostPort, settings: FeedbackPoller.Settings) {
        self.loop = loop
        self.place = place
        self.settings = settings
        loop.execute { self.assumeIsolated { $0.begin() } }
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// The next tuples, at most a batch, or the end. One caller at a time.
    func next() async -> Piece {
        if let piece = piece() { return piece }
        return await withCheckedContinuation { continuation in
            precondition(waiter == nil, "two wait for the same feedback")
            waiter = continuation
            if let channel, channel.isReadingPaused {
                channel.isReadingPaused = false
                readingSince = loop.now
            }
        }
    }

    /// Ends the connection. What was read until then can still be taken.
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
        connector = TCPConnector(on: loop, to: place, resolver: settings.resolver, deadline: deadline) { result in
            self.connected(result)
        }
        timer = loop.schedule(at: deadline) {
            self.timer = nil
            self.finish(.failed("\(self.place): no TLS within \(self.settings.connectTimeout)"))
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
                finish(.failed("\(place): \(error.message)"))
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
        // While its reading is paused a peer cannot be silent.
        if channel.isReadingPaused { readingSince = loop.now }
        if loop.now >= silenceEnds {
            finish(.failed("\(place): silent for \(settings.silenceLimit), and the list is not at its end"))
        } else {
            watchForSilence()
        }
    }

    private func received(_ bytes: [UInt8]) {
        guard end == nil else { return }
        decoder.decode(bytes, into: &tuples)
        wake()
        // Whoever waits asks for more; as long as nobody does, the kernel keeps it.
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
            finish(.failed("\(place): \(reason)"))
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

// The channel calls on the loop, which is the actor's executor.
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
