import PushLoop

/// What a handler answers a request with: once, whole or streamed, now or later. Confined to the server's loop, but
/// may be dropped anywhere.
///
/// Dropped unanswered, the client gets a 500; dropped in mid-stream, the connection is cut. Closures given to it that
/// hold the responder keep it from being dropped: capture it weakly in `onClose`.
package final class HTTP1Responder {
    /// What became of a chunk.
    package enum Sent: Equatable, Sendable {
        /// Taken; there is room for the next.
        case more
        /// Taken; wait for `onDrain`.
        case wait
        /// Not taken: the client is slow, and you did not wait. Send it again after `onDrain`.
        case refused
        /// The client has gone, or the answer is not being streamed.
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

    /// Called once, on the loop, if the client goes before its answer was complete. What is sent from then on is
    /// ignored. A client that closes its sending side counts as gone.
    package var onClose: (() -> Void)? {
        get { exchange.onClose }
        set { if !exchange.isSettled.load(ordering: .relaxed) { exchange.onClose = newValue } }
    }

    /// Called on the loop when a client that was slow has taken most of what was sent.
    package var onDrain: (() -> Void)? {
        get { exchange.onDrain }
        set { if !exchange.isSettled.load(ordering: .relaxed) { exchange.onDrain = newValue } }
    }

    /// Answers. Length, date and connection headers are added. A HEAD request gets the headers alone.
    ///
    /// - Throws: `badHeader` or `badStatus`, and nothing went out: answer otherwise, or drop the responder;
    ///   `alreadyAnswered`.
    package func respond(status: Int, headers: HTTP1Headers = [:], body: [UInt8] = []) throws(HTTP1Error) {
        loopBound.loop.assertOnLoop()
        try exchange.respond(status: status, headers: headers, body: body)
    }

    /// Starts an answer whose body follows by `send`, in chunks; to an HTTP/1.0 client up to the connection's end.
    package func start(status: Int, headers: HTTP1Headers = [:]) throws(HTTP1Error) {
        loopBound.loop.assertOnLoop()
        try exchange.start(status: status, headers: headers)
    }

    /// Sends a piece of the body. At most `streamBufferBytes` wait for the client, or one chunk if that is larger.
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
