import PushLoop

/// The object with which a handler answers a request: once, complete or streamed, now or later. It is confined to the
/// server's loop, but may be released anywhere.
///
/// If it is released without an answer, the client gets a 500. If it is released in mid-stream, the connection is
/// aborted. Closures that are stored in it and capture it keep it alive: capture it weakly in `onClose`.
package final class HTTP1Responder {
    /// The result of sending a chunk.
    package enum Sent: Equatable, Sendable {
        /// The chunk was accepted, and there is room for the next one.
        case more
        /// The chunk was accepted. Wait for `onDrain` before the next one.
        case wait
        /// The chunk was not accepted, because the client is slow and the caller did not wait. Send it again after
        /// `onDrain`.
        case refused
        /// The client has disconnected, or the answer is not being streamed.
        case closed
    }

    private let exchange: HTTP1Exchange
    private let loopBound: LoopBound<HTTP1Exchange>

    init(_ exchange: HTTP1Exchange, on loop: EventLoop) {
        self.exchange = exchange
        loopBound = LoopBound(exchange, on: loop)
    }

    deinit {
        guard !exchange.isSettled.load(ordering: .acquiring) else { return }
        loopBound.loop.execute { [loopBound] in loopBound.wrapped.responderWasDropped() }
    }

    /// Called once, on the loop, if the client disconnects before its answer is complete. Later output is ignored. A
    /// client that closes its sending side counts as disconnected.
    package var onClose: (() -> Void)? {
        get { exchange.onClose }
        set { if !exchange.isSettled.load(ordering: .relaxed) { exchange.onClose = newValue } }
    }

    /// Called on the loop when a slow client has read most of the sent data.
    package var onDrain: (() -> Void)? {
        get { exchange.onDrain }
        set { if !exchange.isSettled.load(ordering: .relaxed) { exchange.onDrain = newValue } }
    }

    /// Answers the request. Length, date and connection headers are added. A HEAD request gets only the headers.
    ///
    /// - Throws: `badHeader` or `badStatus` before anything is sent: give another answer, or drop the responder.
    ///   `alreadyAnswered` if there was an answer before.
    package func respond(status: Int, headers: HTTP1Headers = [:], body: [UInt8] = []) throws(HTTP1Error) {
        loopBound.loop.assertOnLoop()
        try exchange.respond(status: status, headers: headers, body: body)
    }

    /// Starts an answer whose body follows with ``send(_:)``, in chunks. To an HTTP/1.0 client, the end of the
    /// connection ends the body.
    package func start(status: Int, headers: HTTP1Headers = [:]) throws(HTTP1Error) {
        loopBound.loop.assertOnLoop()
        try exchange.start(status: status, headers: headers)
    }

    /// Sends a part of the body. At most `streamBufferBytes` wait for the client, or one chunk if that is larger.
    package func send(_ chunk: [UInt8]) -> Sent {
        loopBound.loop.assertOnLoop()
        return exchange.send(chunk)
    }

    /// Ends a streamed answer.
    package func finish() throws(HTTP1Error) {
        loopBound.loop.assertOnLoop()
        try exchange.finish()
    }
}
