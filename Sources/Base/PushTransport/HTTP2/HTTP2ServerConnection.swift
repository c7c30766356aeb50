package import PushLoop

/// The delegate of an HTTP/2 server connection. Its functions run on the loop of the connection.
package protocol HTTP2ServerConnectionDelegate: AnyObject {
    /// Called when TLS is established. Requests may follow.
    func http2Opened(_ connection: HTTP2ServerConnection)

    /// Called with a complete request, which is borrowed. Answer it now or later through `connection.engine`.
    func http2(_ connection: HTTP2ServerConnection, request: HTTP2ServerRequest)

    /// Called when a complete request was cancelled before it was answered.
    func http2(_ connection: HTTP2ServerConnection, withdrew stream: Int32)

    /// Called when the stream or the connection ended before the whole answer was sent.
    func http2(_ connection: HTTP2ServerConnection, lostAnswerOn stream: Int32, tag: UInt64)

    func http2Closed(_ connection: HTTP2ServerConnection, because reason: any Error)
}

extension HTTP2ServerConnectionDelegate {
    package func http2(_ connection: HTTP2ServerConnection, lostAnswerOn stream: Int32, tag: UInt64) {}
}

/// An accepted HTTP/2 connection. Confined to its loop, which retains it until it ends.
package final class HTTP2ServerConnection {
    package struct Options: Sendable {
        package var settings = HTTP2Settings(maxConcurrentStreams: 1000, maxHeaderListSize: 8000)
        package var limits = HTTP2ServerEngine.Limits()
        /// The time from accepting to the end of the handshake. Default 10 s.
        package var handshakeTimeout: Duration = .seconds(10)
        /// The time without received bytes after which the connection is ended with GOAWAY. Nil, the default, means
        /// never.
        package var idleTimeout: Duration?

        package init() {}
    }

    private static let pullSize = 64 * 1024

    package let loop: EventLoop
    package let channel: Channel
    package let engine: HTTP2ServerEngine
    private weak var delegate: (any HTTP2ServerConnectionDelegate)?
    private let options: Options
    /// Whether the connection reads everything and sends nothing, not even mandatory HTTP/2 frames. It simulates a dead
    /// peer.
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
            channel.fail(.timedOut("TLS handshake timed out after \(options.handshakeTimeout)"))
        }
        channel.start()
    }

    /// Sends the pending frames of the engine at the end of this tick.
    package func flush() {
        channel.askForFlush()
    }

    /// Passes all pending frames of the engine to the channel now, so that later output follows them.
    package func flushNow() {
        guard !isMute, !isClosed else { return }
        do throws(HTTP2Error) {
            while try unsafe !engine.pull(upTo: Self.pullSize, { unsafe channel.write($0) }) {}
        } catch {
            violation = error
            channel.close()
        }
    }

    /// Sends GOAWAY with the last accepted stream, waits for the pending answers, then closes.
    package func closeGracefully(_ code: HTTP2ErrorCode = .noError, debugData: [UInt8] = []) {
        engine.goAway(lastStream: engine.lastStream, code: code, debugData: debugData)
        channel.askForFlush()
    }

    /// Sends the pending frames, including GOAWAY, and closes without waiting for pending answers.
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

    package func http2(_ engine: HTTP2ServerEngine, withdrew stream: Int32, code: HTTP2ErrorCode) {
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
            // Send the frames with which nghttp2 reports the error (GOAWAY with a code) before the end.
            _ = unsafe try? engine.pull(upTo: Self.pullSize) { unsafe channel.write($0) }
            violation = error
            channel.close()
            return
        }
        // A client that does not read its answers must not send more requests, because nothing else limits its pending
        // output.
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
        delegate?.http2Closed(self, because: violation ?? reason)
        _ = keep
    }
}
