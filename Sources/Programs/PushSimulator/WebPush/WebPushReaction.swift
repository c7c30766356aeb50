/// What the transport must do about one push request.
package struct WebPushReaction {
    package enum Action: Equatable, Sendable {
        /// Send the answer after `delay`.
        case answer
        /// Send RST_STREAM with this code after `delay`.
        case reset(UInt32)
        /// Do nothing, because the stream is above the last one of a GOAWAY frame.
        case ignore
        /// Send nothing more on this connection, but continue to read.
        case silence
        /// Close the connection at once.
        case close
    }

    package var action = Action.answer
    package var status: UInt16 = 201
    package var fields: [(StaticString, String)] = []
    package var body: [UInt8] = []
    /// The delay in nanoseconds.
    package var delay: Int64 = 0
    /// The GOAWAY frame to send after the answer, or at once if there is no answer.
    package var goAway: Reaction.GoAway?
    /// The stream limit to announce.
    package var streamLimit: UInt32?
    /// The number of the request's record.
    package var record: UInt64 = 0

    init() {}

    mutating func refuse(_ refusal: WebPushRefusal, retryAfter: UInt32? = nil, body: [UInt8]? = nil) {
        status = refusal.status
        fields = [("content-type", "application/json")]
        if let retryAfter { fields.append(("retry-after", String(retryAfter))) }
        self.body = body ?? refusal.body
    }
}

/// The state of one connection to the simulated push service. The transport keeps it and passes it in with each request.
package struct WebPushConnection {
    /// The number of the connection, counted from 1.
    package let number: UInt32
    var requests: UInt64 = 0
    /// The last stream that is processed.
    package var lastStream = Int32.max
    package var streamLimit: UInt32?
    /// The GOAWAY frame to send right after SETTINGS.
    package var goAway: Reaction.GoAway?
    /// Whether the connection is reset at once, before the TLS handshake.
    package var isRefused = false
    /// Whether the connection closes, and processes nothing more.
    package var isClosing = false
    /// Whether the connection reads everything and sends nothing.
    package var isSilent = false

    init(number: UInt32) {
        self.number = number
    }
}
