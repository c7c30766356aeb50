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

    /// The connection of the request. On the loop.
    package let connection: HTTP1Connection
    private let number: UInt64
    /// Whether a release needs no action any more. Changed on the loop only, before the last reference is released.
    private var isSettled = false

    init(to number: UInt64, on connection: HTTP1Connection) {
        self.connection = connection
        self.number = number
    }

    deinit {
        guard !isSettled else { return }
        let dropped = Dropped(connection: connection, number: number)
        // Also on the loop only later, because the release may happen within any other call.
        connection.loop.executeUnlessStopped { dropped.connection.responderWasDropped(dropped.number) }
    }

    private struct Dropped: @unchecked Sendable {
        // Unchecked: the connection is used on its loop only.
        let connection: HTTP1Connection
        let number: UInt64
    }

    /// Called once, on the loop, if the client disconnects before its answer is complete. Later output is ignored. A
    /// client that closes its sending side counts as disconnected.
    package var onClose: (() -> Void)? {
        get { connection.openExchange(number)?.onClose }
        set { connection.changeExchange(number) { $0.onClose = newValue } }
    }

    /// Called on the loop when a slow client has read most of the sent data.
    package var onDrain: (() -> Void)? {
        get { connection.openExchange(number)?.onDrain }
        set { connection.changeExchange(number) { $0.onDrain = newValue } }
    }

    /// Called once, on the loop, with the status of the answer when it begins.
    package var onAnswer: ((Int) -> Void)?

    /// Answers the request. Length, date and connection headers are added. A HEAD request gets only the headers.
    ///
    /// - Throws: `badHeader` or `badStatus` before anything is sent: give another answer, or drop the responder.
    ///   `alreadyAnswered` if there was an answer before.
    package func respond(status: Int, headers: HTTP1Headers = [:], body: [UInt8] = []) throws(HTTP1Error) {
        try connection.respond(to: number, status: status, headers: headers, body: body)
        isSettled = true
        onAnswer.take()?(status)
    }

    /// Starts an answer whose body follows with ``send(_:)``, in chunks. To an HTTP/1.0 client, the end of the
    /// connection ends the body.
    package func start(status: Int, headers: HTTP1Headers = [:]) throws(HTTP1Error) {
        try connection.start(number, status: status, headers: headers)
        onAnswer.take()?(status)
    }

    /// Sends a part of the body. At most `streamBufferBytes` wait for the client, or one chunk if that is larger.
    package func send(_ chunk: [UInt8]) -> Sent {
        connection.send(chunk, in: number)
    }

    /// Ends a streamed answer.
    package func finish() throws(HTTP1Error) {
        try connection.finish(number)
        isSettled = true
    }
}
