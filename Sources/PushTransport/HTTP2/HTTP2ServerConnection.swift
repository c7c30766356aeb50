package import PushLoop

/// Takes what happens on one connection of an HTTP/2 server. Called on its loop.
package protocol HTTP2ServerConnectionDelegate: AnyObject {
    /// TLS stands; requests may come.
    func http2Opened(_ connection: HTTP2ServerConnection)

    /// A complete request, borrowed. Answer now or later through `connection.engine`.
    func http2(_ connection: HTTP2ServerConnection, request: HTTP2ServerRequest)

    /// A complete request was taken back before it was answered.
    func http2(_ connection: HTTP2ServerConnection, withdrew stream: Int32)

    /// An answer did not get out before its stream or the connection ended.
    func http2(_ connection: HTTP2ServerConnection, lostAnswerOn stream: Int32, tag: UInt64)

    func http2Closed(_ connection: HTTP2ServerConnection, _ reason: any Error)
}

extension HTTP2ServerConnectionDelegate {
    package func http2(_ connection: HTTP2ServerConnection, lostAnswerOn stream: Int32, tag: UInt64) {}
}

/// One accepted HTTP/2 connection. Confined to its loop, which keeps it until it ends.
package final class HTTP2ServerConnection {
    package struct Options: Sendable {
        package var settings = HTTP2Settings(maxConcurrentStreams: 1000, maxHeaderListSize: 8000)
        package var limits = HTTP2ServerEngine.Limits()
        /// From accept to the end of the handshake. Default 10 s.
        package var handshakeTimeout: Duration = .seconds(10)
        /// With no request for so long the connection is ended with GOAWAY. Nil for never, the default.
        package var idleTimeout: Duration?

        package init() {}
    }

    private static let pullSize = 64 * 1024

    package let loop: EventLoop
    package let channel: Channel
    package let engine: HTTP2ServerEngine
    private weak var delegate: (any HTTP2ServerConnectionDelegate)?
    private let options: Options
    /// Takes everything and sends nothing more, not even what HTTP/2 owes the client: for simulating a dead peer.
    package var isMute = false
    private var closesAfterFlush = false
    private var timer: TimerID?
    private var violation: HTTP2Error?
    private var isClosed = false
    private var retainedWhileOpen: HTTP2ServerConnection?

    package init(
        _ socket: consuming Socket, on loop: EventLoop, tls: TLSEngine, options: Options,
        delegate: any HTTP2ServerConnectionDelegate
    ) {
        self.loop = loop
        self.options = options
        self.delegate = delegate
        engine = HTTP2ServerEngine(settings: options.settings, limits: options.limits, delegate: nil)
        channel = Channel(socket, on: loop, tls: tls, handler: nil)
        retainedWhileOpen = self
        engine.delegate = self
        channel.handler = self
        timer = loop.schedule(after: options.handshakeTimeout) { [unowned self] in
            timer = nil
            channel.fail(.timedOut("no TLS handshake within \(options.handshakeTimeout)"))
        }
        channel.start()
    }

    /// Has what the engine holds sent at the end of this tick.
    package func flush() {
        channel.askForFlush()
    }

    /// Hands all that the engine holds to the channel now, so that whatever comes next comes behind it.
    package func flushNow() {
        guard !isMute, !isClosed else { return }
        do throws(HTTP2Error) {
            while try unsafe !engine.pull(upTo: Self.pullSize, { unsafe channel.write($0) }) {}
        } catch {
            violation = error
            channel.close()
        }
    }

    /// Names the last stream that was taken, waits for the answers that are under way, then closes.
    package func closeGracefully(_ code: HTTP2ErrorCode = .noError, debugData: [UInt8] = []) {
        engine.goAway(lastStream: engine.lastStream, code, debugData: debugData)
        channel.askForFlush()
    }

    /// Sends what the engine holds, GOAWAY included, and closes without waiting for the answers under way.
    package func closeAfterFlush() {
        closesAfterFlush = true
        channel.askForFlush()
    }

    private func armIdle() {
        guard let idleTimeout = options.idleTimeout else { return }
        timer = loop.schedule(at: channel.lastReceived + idleTimeout) { [unowned self] in
            timer = nil
            if loop.now - channel.lastReceived >= idleTimeout, engine.unanswered == 0 {
                closeGracefully()
            } else {
                armIdle()
            }
        }
    }
}

extension HTTP2ServerConnection: HTTP2ServerDelegate {
    package func http2(_ engine: HTTP2ServerEngine, request: HTTP2ServerRequest) {
        delegate?.http2(self, request: request)
    }

    package func http2(_ engine: HTTP2ServerEngine, withdrew stream: Int32, _ code: HTTP2ErrorCode) {
        delegate?.http2(self, withdrew: stream)
    }

    package func http2(_ engine: HTTP2ServerEngine, lostAnswerOn stream: Int32, tag: UInt64) {
        delegate?.http2(self, lostAnswerOn: stream, tag: tag)
    }
}

extension HTTP2ServerConnection: ChannelHandler {
    package func channelOpened(_ channel: Channel) {
        if let timer = timer.take() { loop.cancel(timer) }
        armIdle()
        delegate?.http2Opened(self)
        channel.askForFlush()
    }

    package func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {
        do throws(HTTP2Error) {
            try unsafe engine.receive(bytes)
        } catch {
            // What nghttp2 has to say about it (GOAWAY with the code) goes out before the end.
            _ = unsafe try? engine.pull(upTo: Self.pullSize) { unsafe channel.write($0) }
            violation = error
            channel.close()
            return
        }
        // Who does not take its answers may not ask for more: what waits for it here has no other bound.
        if channel.isCongested { channel.isReadingPaused = true }
        channel.askForFlush()
    }

    package func channelWantsOutput(_ channel: Channel) {
        channel.isReadingPaused = false
        guard !isMute else { return }
        if closesAfterFlush {
            flushNow()
            channel.close()
            return
        }
        do throws(HTTP2Error) {
            try unsafe engine.pull(upTo: Self.pullSize) { unsafe channel.write($0) }
        } catch {
            violation = error
            channel.close()
            return
        }
        if engine.isDone { channel.close() }
    }

    package func channel(_ channel: Channel, closed reason: ChannelClosure) {
        guard !isClosed else { return }
        isClosed = true
        if let timer = timer.take() { loop.cancel(timer) }
        engine.connectionEnded()
        let keep = retainedWhileOpen.take()
        delegate?.http2Closed(self, violation ?? reason)
        _ = keep
    }
}
