/// What the transport must do about one request.
package struct Reaction {
    package enum Action: UInt8, Sendable {
        /// Send the answer after `delay`.
        case answer
        /// Send RST_STREAM with `resetCode` after `delay`.
        case reset
        /// Do nothing, because the stream is above the last one of a GOAWAY frame.
        case ignore
        /// Send nothing more on this connection, but continue to read.
        case silence
        /// Send a part of the answer that ends within a frame, then close.
        case halfFrame
        /// Close the connection at once.
        case close
    }

    package struct GoAway: Sendable {
        package var lastStream: Int32
        package var code: UInt32
        /// The debug data: JSON with a reason, or empty.
        package var text: [UInt8]
        /// Whether to close the connection right after the frame, instead of after the answers to the streams up to the
        /// last one.
        package var closes: Bool
    }

    package var action = Action.answer
    package var status: UInt16 = 200
    package var reason = Reason.none
    var customReason: UInt8 = 0
    /// The timestamp in milliseconds since 1970, for status 410; 0 if there is none.
    package var timestamp: Int64 = 0
    /// The value of `retry-after` in seconds; nil if the header is omitted.
    package var retryAfter: UInt32?
    /// The delay in nanoseconds.
    package var delay: Int64 = 0
    package var resetCode: UInt32 = 0
    /// The value of `apns-id`, or of `apns-request-id` for the broadcast services.
    package var id: MessageID
    package var isRequestID = false
    /// The value of `apns-unique-id`, which names the entry in the delivery log of the sandbox.
    package var uniqueID: MessageID?
    /// The stream limit to announce in a SETTINGS frame before the answer.
    package var streamLimit: UInt32?
    /// The GOAWAY frame to send after the answer, or at once if there is no answer. The transport drops delayed answers
    /// on streams above the last one and reports their records as unprocessed.
    package var goAway: GoAway?
    /// The body of an answer that contains more than a reason.
    package var body: [UInt8] = []
    package var channelID: [UInt8] = []
    /// The number of the request's record, for reporting a lost answer; 0 if there is none.
    package var record: UInt64 = 0

    init(id: MessageID) {
        self.id = id
    }
}
