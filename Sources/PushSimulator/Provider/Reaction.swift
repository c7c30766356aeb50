/// What the transport is to do about one request.
package struct Reaction {
    package enum Action: UInt8, Sendable {
        /// Send the answer, after `delay`.
        case answer
        /// RST_STREAM with `resetCode`, after `delay`.
        case reset
        /// Nothing: the stream came after the last one of a GOAWAY.
        case ignore
        /// From now on say nothing at all on this connection; go on reading.
        case silence
        /// Send a part of the answer that ends within a frame, then close.
        case halfFrame
        /// Close the connection at once.
        case close
    }

    package struct GoAway: Sendable {
        package var lastStream: Int32
        package var code: UInt32
        /// Debug data, JSON with a reason, or empty.
        package var text: [UInt8]
        /// Close as soon as it is sent, instead of when the streams up to the last are answered.
        package var closes: Bool
    }

    package var action = Action.answer
    package var status: UInt16 = 200
    package var reason = Reason.none
    var customReason: UInt8 = 0
    /// Milliseconds since 1970, with 410; 0: none.
    package var timestamp: Int64 = 0
    /// Seconds; nil: no such header.
    package var retryAfter: UInt32?
    /// Nanoseconds.
    package var delay: Int64 = 0
    package var resetCode: UInt32 = 0
    /// `apns-id`, or `apns-request-id` of the broadcast services.
    package var id: MessageID
    package var isRequestID = false
    /// `apns-unique-id`: the sandbox names the entry in its delivery log.
    package var uniqueID: MessageID?
    /// SETTINGS to send before the answer.
    package var streamLimit: UInt32?
    /// GOAWAY to send after the answer, or at once when there is none. Answers that still wait on streams beyond the
    /// last are to be dropped, and their records reported as unprocessed.
    package var goAway: GoAway?
    /// For an answer that carries more than a reason.
    package var body: [UInt8] = []
    package var channelID: [UInt8] = []
    /// The record of this request, for reporting what became of the answer. 0: none.
    package var record: UInt64 = 0

    init(id: MessageID) {
        self.id = id
    }
}
