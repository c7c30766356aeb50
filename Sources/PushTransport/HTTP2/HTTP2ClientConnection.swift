package import PushLoop

/// Takes what becomes of one HTTP/2 connection. Called on its loop.
package protocol HTTP2ClientConnectionDelegate: HTTP2ClientDelegate {
    /// The connection is over, once. Every request it had was reported before this.
    func http2Closed(_ closure: HTTP2Closure)

    /// A burst of answers has been reported, or there is room for requests again: what there is can be handed on as one
    /// batch.
    func http2BatchEnded()

    /// The peer gave a sign of life after a PING.
    func http2IsAlive()
}

extension HTTP2ClientConnectionDelegate {
    package func http2IsAlive() {}
}

/// Why an HTTP/2 connection ended.
package enum HTTP2Closure: Error, Sendable, CustomStringConvertible {
    /// It was never reached: no name, no route, refused, no answer in time.
    case notConnected(TCPError)
    case channel(ChannelClosure)
    /// The peer broke the protocol.
    case violation(HTTP2Error)
    /// A PING went unanswered.
    case silent(after: Duration)
    /// The peer said GOAWAY and everything it was to answer is answered.
    case goAway(HTTP2GoAway)

    package var description: String {
        switch self {
        case .notConnected(let error): "\(error)"
        case .channel(let closure): "\(closure)"
        case .violation(let error): "\(error)"
        case .silent(let time): "the peer went silent: no answer to a PING within \(time)"
        case .goAway(let goAway): "the peer ended the connection with GOAWAY (\(goAway.code))"
        }
    }
}

/// One HTTP/2 connection to a host: TCP, TLS, SETTINGS, then requests. Used once: a connection that has ended is
/// replaced, not opened again. Confined to its loop.
package final class HTTP2ClientConnection {
    package struct Options: Sendable {
        /// From the first look-up to the peer's first SETTINGS. Default 10 s.
        package var connectTimeout: Duration = .seconds(10)
        /// Nothing received for so long: a PING goes out. Default 60 s; nil for never.
        package var pingAfter: Duration? = .seconds(60)
        /// How long a PING may go unanswered. Default 10 s.
        package var pingTimeout: Duration = .seconds(10)
        package var settings = HTTP2Settings(enablePush: false)
        package var limits = HTTP2ClientEngine.Limits()

        package init() {}
    }

    /// Frames gathered before the channel is asked whether it has room.
    private static let pullSize = 64 * 1024

    package let loop: EventLoop
    package let place: HostPort
    private weak var delegate: (any HTTP2ClientConnectionDelegate)?
    private let options: Options
    private let context: TLSContext
    private let serverName: String
    private let engine: HTTP2ClientEngine
    private var connector: TCPConnector?
    private var channel: Channel?
    private var timer: TimerID?
    private var pingSentAt: MonotonicTime?
    private var isDraining = false
    private var isClosed = false
    private var nextPing: UInt64 = 1
    private var retainedWhileOpen: HTTP2ClientConnection?

    /// The time from the last PING to its answer.
    package private(set) var lastRoundTrip: Duration?

    /// Begins to connect. The loop keeps the connection until it has ended; the delegate is held weakly.
    package init(
        on loop: EventLoop, to place: HostPort, serverName: String? = nil, tls context: TLSContext,
        resolver: NameResolver, options: Options = Options(), delegate: any HTTP2ClientConnectionDelegate
    ) {
        self.loop = loop
        self.place = place
        self.context = context
        self.serverName = serverName ?? place.host
        self.options = options
        self.delegate = delegate
        engine = HTTP2ClientEngine(settings: options.settings, limits: options.limits, delegate: delegate)
        let deadline = loop.now + options.connectTimeout
        engine.pingAnswered = { [unowned self] _ in pingAnswered() }
        retainedWhileOpen = self
        connector = TCPConnector(on: loop, to: place, resolver: resolver, deadline: deadline) { [unowned self] result in
            connected(result)
        }
        timer = loop.schedule(at: deadline) { [unowned self] in
            timer = nil
            finish(.channel(.timedOut("\(place): no TLS and HTTP/2 SETTINGS within \(options.connectTimeout)")))
        }
    }

    package var inFlight: Int { engine.inFlight }
    package var streamLimit: Int? { engine.streamLimit }
    /// How many requests may be submitted now.
    package var available: Int { isDraining || isClosed ? 0 : engine.available }
    package var peer: SocketAddress? { channel?.peer }
    package var session: TLSSessionInfo? { channel?.session }

    /// Sends a request with values of its own.
    package func submit(
        _ request: HTTP2PreparedRequest, values: UnsafeBufferPointer<UnsafeRawBufferPointer>, body: [UInt8]?,
        tag: UInt64
    ) -> HTTP2Submission {
        if isDraining || isClosed { return .over }
        let submission = unsafe engine.submit(request, values: values, body: body, tag: tag)
        if submission == .taken { channel?.askForFlush() }
        return submission
    }

    /// The same with bytes of its own; true when it was taken.
    package func submit(_ request: HTTP2PreparedRequest, values: [[UInt8]], body: [UInt8]?, tag: UInt64) -> Bool {
        guard !isDraining, engine.submit(request, values: values, body: body, tag: tag) == .taken else { return false }
        channel?.askForFlush()
        return true
    }

    /// Takes a request back; nothing more is heard of it.
    package func abandon(tag: UInt64) {
        engine.abandon(tag: tag)
        channel?.askForFlush()
    }

    /// Asks the peer for a sign of life now. Without one in `pingTimeout` the connection ends.
    package func ping() {
        guard let channel, channel.isOpen, pingSentAt == nil else { return }
        engine.ping(nextPing)
        nextPing += 1
        pingSentAt = loop.now
        channel.askForFlush()
        arm()
    }

    /// Takes no more requests, waits for the answers, then closes.
    package func closeGracefully() {
        guard !isDraining, !isClosed else { return }
        guard let channel, channel.isOpen else {
            close()
            return
        }
        isDraining = true
        engine.terminate()
        channel.askForFlush()
    }

    /// Ends it now. Requests without an answer are reported first.
    package func close() {
        finish(.channel(.byUs))
    }

    // MARK: Connecting

    private func connected(_ result: consuming TCPConnectResult) {
        connector = nil
        switch consume result {
        case .failed(let error):
            finish(.notConnected(error))
        case .connected(let socket, _):
            do throws(TLSError) {
                let tls = try TLSEngine(context: context, role: .client(serverName: serverName))
                let channel = Channel(socket, on: loop, tls: tls, handler: self)
                self.channel = channel
                channel.start()
            } catch {
                finish(.channel(.tls(error)))
            }
        }
    }

    // MARK: Keeping alive

    private func pingAnswered() {
        guard let sent = pingSentAt.take() else { return }
        lastRoundTrip = loop.now - sent
        delegate?.http2IsAlive()
    }

    /// After SETTINGS one timer serves both: when to ask, and when to give up.
    private func arm() {
        let next: MonotonicTime
        if let pingSentAt {
            next = pingSentAt + options.pingTimeout
        } else if let pingAfter = options.pingAfter, let channel {
            next = channel.lastReceived + pingAfter
        } else {
            return
        }
        if let timer { loop.cancel(timer) }
        timer = loop.schedule(at: next) { [unowned self] in
            timer = nil
            aliveTimerFired()
        }
    }

    private func aliveTimerFired() {
        guard let channel else { return }
        if let pingSentAt {
            // Any byte is a sign of life: a peer that is busy answering may be slow to answer a PING.
            if channel.lastReceived <= pingSentAt {
                finish(.silent(after: options.pingTimeout))
                return
            }
            self.pingSentAt = nil
            delegate?.http2IsAlive()
        }
        if let pingAfter = options.pingAfter, loop.now - channel.lastReceived >= pingAfter {
            ping()
        } else {
            arm()
        }
    }

    // MARK: The end

    private func finish(_ closure: HTTP2Closure) {
        guard !isClosed else { return }
        isClosed = true
        connector?.cancel()
        connector = nil
        if let timer = timer.take() { loop.cancel(timer) }
        channel?.abort()
        let keep = retainedWhileOpen.take()
        engine.connectionEnded()
        delegate?.http2BatchEnded()
        delegate?.http2Closed(closure)
        _ = keep
    }

    /// The peer is told what it did wrong before the connection goes.
    private func violated(_ error: HTTP2Error) {
        if let channel = channel.take() {
            _ = unsafe try? engine.pull(upTo: Self.pullSize) { unsafe channel.write($0) }
            channel.close()
        }
        finish(.violation(error))
    }

    private func closeIfDone() {
        guard engine.isDone || (isDraining && engine.inFlight == 0) else { return }
        let closure = engine.goAway.map { HTTP2Closure.goAway($0) } ?? .channel(.byUs)
        // In order, so that our own GOAWAY and close_notify still go out.
        channel?.close()
        channel = nil
        finish(closure)
    }
}

extension HTTP2ClientConnection: ChannelHandler {
    package func channelOpened(_ channel: Channel) {
        channel.askForFlush()
    }

    package func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {
        guard !isClosed else { return }
        let hadSettings = engine.streamLimit != nil
        do throws(HTTP2Error) {
            try unsafe engine.receive(bytes)
        } catch {
            violated(error)
            return
        }
        guard !isClosed else { return }
        if !hadSettings, engine.streamLimit != nil {
            if let timer = timer.take() { loop.cancel(timer) }
            arm()
        }
        channel.askForFlush()
        delegate?.http2BatchEnded()
    }

    package func channelWantsOutput(_ channel: Channel) {
        guard !isClosed else { return }
        do throws(HTTP2Error) {
            let before = engine.inFlight
            try unsafe engine.pull(upTo: Self.pullSize) { unsafe channel.write($0) }
            // The streams of requests that were given up end here, with the RST_STREAM that has just gone out.
            if engine.inFlight < before { delegate?.http2BatchEnded() }
        } catch {
            violated(error)
            return
        }
        closeIfDone()
    }

    package func channel(_ channel: Channel, closed reason: ChannelClosure) {
        if let goAway = engine.goAway, engine.inFlight == 0 {
            finish(.goAway(goAway))
        } else {
            finish(.channel(reason))
        }
    }
}
