package import PushLoop

/// The delegate of one HTTP/2 connection. Its functions run on the loop of the connection.
package protocol HTTP2ClientConnectionDelegate: HTTP2ClientDelegate {
    /// Called once when the connection has ended. The ends of all its requests were reported before.
    func http2Closed(_ closure: HTTP2Closure)

    /// Called after a burst of responses was reported, or when there is room for requests again, so that the delegate
    /// can handle the results as one batch.
    func http2BatchEnded()

    /// Called when the peer has sent anything after a PING.
    func http2IsAlive()
}

extension HTTP2ClientConnectionDelegate {
    package func http2IsAlive() {}
}

/// The reason why an HTTP/2 connection ended.
package enum HTTP2Closure: Error, Sendable, CustomStringConvertible {
    /// The connection was not established: lookup failed, no route, refused, or timed out.
    case notConnected(TCPError)
    case channel(ChannelClosure)
    /// The peer violated the protocol.
    case violation(HTTP2Error)
    /// The peer did not respond to a PING in time.
    case silent(after: Duration)
    /// The peer sent GOAWAY, and all requests that it accepted are answered.
    case goAway(HTTP2GoAway)

    package var description: String {
        switch self {
        case .notConnected(let error): "\(error)"
        case .channel(let closure): "\(closure)"
        case .violation(let error): "\(error)"
        case .silent(let time): "connection timed out: no response to a PING within \(time)"
        case .goAway(let goAway): "the peer ended the connection with GOAWAY (\(goAway.code))"
        }
    }
}

/// One HTTP/2 connection to a host: TCP, TLS, SETTINGS, then requests. A connection is used once; after its end, the
/// owner creates a new one. Confined to its loop.
package final class HTTP2ClientConnection {
    package struct Options: Sendable {
        /// The time from the start of the lookup to the peer's first SETTINGS. Default 10 s.
        package var connectTimeout: Duration = .seconds(10)
        /// The time without received bytes after which a PING is sent. Default 60 s; nil means never.
        package var pingAfter: Duration? = .seconds(60)
        /// The time that the peer has to respond to a PING. Default 10 s.
        package var pingTimeout: Duration = .seconds(10)
        package var settings = HTTP2Settings(enablePush: false)
        package var limits = HTTP2ClientEngine.Limits()
        /// While it is not valid, nothing is written as long as a request is unanswered: the connection is reset.
        package var permit: SendingPermit?

        package init() {}
    }

    /// The amount of frames that is collected before the channel is asked whether it has room.
    private static let pullSize = 64 * 1024

    package let loop: EventLoop
    package let endpoint: HostPort
    private weak var delegate: (any HTTP2ClientConnectionDelegate)?
    private let options: Options
    private let context: TLSContext
    private let serverName: String
    private let engine: HTTP2ClientEngine
    private var connector: TCPConnector?
    private var channel: Channel?
    /// Until SETTINGS it ends the connect attempt. From then on it serves both for the next PING and for its timeout.
    private var timer = DeadlineTimer()
    private var pingSentAt: MonotonicTime?
    /// Whether a PING was asked for before SETTINGS. It is sent after them.
    private var isPingDue = false
    private var isDraining = false
    /// Whether an abandoned request has made room, which the delegate does not know yet.
    private var hasFreedRoom = false
    private var isClosed = false
    private var nextPing: UInt64 = 1
    private var retainedWhileOpen: HTTP2ClientConnection?

    /// The time from the last PING to its response.
    package private(set) var lastRoundTrip: Duration?

    /// Starts to connect. The loop retains the connection until it has ended; the delegate is held weakly.
    package init(
        on loop: EventLoop, to endpoint: HostPort, serverName: String? = nil, tls context: TLSContext,
        resolver: NameResolver, options: Options = Options(), delegate: any HTTP2ClientConnectionDelegate
    ) {
        self.loop = loop
        self.endpoint = endpoint
        self.context = context
        self.serverName = serverName ?? endpoint.host
        self.options = options
        self.delegate = delegate
        engine = HTTP2ClientEngine(settings: options.settings, limits: options.limits, delegate: delegate)
        let deadline = loop.now + options.connectTimeout
        engine.pingAnswered = { [unowned self] _ in pingAnswered() }
        retainedWhileOpen = self
        connector = TCPConnector(on: loop, to: endpoint, resolver: resolver, deadline: deadline) {
            [unowned self] result in
            connected(result)
        }
        timer.arm(at: deadline, on: loop, action: { [unowned self] in connectTimedOut() })
    }

    package var inFlight: Int { engine.inFlight }
    /// The number of requests that may be submitted now.
    package var available: Int { isDraining || isClosed ? 0 : engine.available }
    package var peer: SocketAddress? { channel?.peer }
    package var session: TLSSessionInfo? { channel?.session }

    /// Submits a request with its own values for the per-request fields.
    package func submit(
        _ request: HTTP2PreparedRequest, values: UnsafeBufferPointer<UnsafeRawBufferPointer>, body: [UInt8]?,
        tag: UInt64
    ) -> HTTP2Submission {
        if isDraining || isClosed { return .over }
        let submission = unsafe engine.submit(request, values: values, body: body, tag: tag)
        if submission == .taken { channel?.askForFlush() }
        return submission
    }

    /// Submits a request with copied values. Returns whether it was accepted.
    package func submit(_ request: HTTP2PreparedRequest, values: [[UInt8]], body: [UInt8]?, tag: UInt64) -> Bool {
        guard !isDraining, engine.submit(request, values: values, body: body, tag: tag) == .taken else { return false }
        channel?.askForFlush()
        return true
    }

    /// Cancels a request. The delegate is not called for it any more.
    package func abandon(tag: UInt64) {
        engine.abandon(tag: tag)
        hasFreedRoom = true
        channel?.askForFlush()
    }

    /// Whether the peer's SETTINGS have arrived.
    private var isEstablished: Bool { engine.streamLimit != nil }

    /// Sends a PING. The connection ends if nothing is received within `pingTimeout`.
    ///
    /// Until the peer's SETTINGS arrive, the PING waits for them: the connect timeout already ends a connection whose
    /// peer does not send them, and no response to a PING may extend it.
    package func ping() {
        guard isEstablished else {
            isPingDue = true
            return
        }
        guard let channel, channel.isOpen, pingSentAt == nil else { return }
        engine.ping(nextPing)
        nextPing += 1
        pingSentAt = loop.now
        channel.askForFlush()
        armTimer()
    }

    /// Accepts no more requests, waits for the responses, then closes.
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

    /// Ends the connection now. The ends of unanswered requests are reported first.
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
                if let permit = options.permit {
                    // The channel lives longer, for the last frames. What they belong to is not known then.
                    channel.mayWrite = { [weak self] in
                        if permit.isValid { return true }
                        guard let self else { return false }
                        return engine.inFlight == 0
                    }
                }
                self.channel = channel
                channel.start()
            } catch {
                finish(.channel(.tls(error)))
            }
        }
    }

    private func connectTimedOut() {
        finish(.channel(.timedOut("\(endpoint): no TLS and HTTP/2 SETTINGS within \(options.connectTimeout)")))
    }

    // MARK: Keep-alive

    private func pingAnswered() {
        guard let sent = pingSentAt.take() else { return }
        lastRoundTrip = loop.now - sent
        delegate?.http2IsAlive()
    }

    /// Called once, when the peer's SETTINGS arrive.
    private func established() {
        timer.disarm(on: loop)
        if isPingDue { ping() } else { armTimer() }
    }

    /// Sets the timer for the next PING or for its timeout.
    private func armTimer() {
        let next: MonotonicTime
        if let pingSentAt {
            next = pingSentAt + options.pingTimeout
        } else if let pingAfter = options.pingAfter, let channel {
            next = channel.lastReceived + pingAfter
        } else {
            return
        }
        timer.arm(at: next, on: loop, action: { [unowned self] in aliveTimerFired() })
    }

    private func aliveTimerFired() {
        guard let channel else { return }
        if let pingSentAt {
            // Any received byte shows that the peer is alive. A busy peer may respond late to a PING.
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
            armTimer()
        }
    }

    // MARK: End

    private func finish(_ closure: HTTP2Closure) {
        guard !isClosed else { return }
        isClosed = true
        connector?.cancel()
        connector = nil
        timer.disarm(on: loop)
        channel?.abort()
        let keep = retainedWhileOpen.take()
        engine.connectionEnded()
        delegate?.http2BatchEnded()
        delegate?.http2Closed(closure)
        _ = keep
    }

    /// Ends the connection after a violation. The pending GOAWAY with the reason is sent first.
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
        // Close properly, so that our own GOAWAY and close_notify are still sent.
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
        let wasEstablished = isEstablished
        do throws(HTTP2Error) {
            try unsafe engine.receive(bytes)
        } catch {
            violated(error)
            return
        }
        guard !isClosed else { return }
        if !wasEstablished, isEstablished { established() }
        channel.askForFlush()
        delegate?.http2BatchEnded()
    }

    package func channelWantsOutput(_ channel: Channel) {
        guard !isClosed else { return }
        do throws(HTTP2Error) {
            let before = engine.inFlight
            try unsafe engine.pull(upTo: Self.pullSize) { unsafe channel.write($0) }
            // A stream whose answer came early ends with the end of its request.
            if hasFreedRoom || engine.inFlight < before {
                hasFreedRoom = false
                delegate?.http2BatchEnded()
            }
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
