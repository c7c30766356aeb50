/// The state of the answer to the current request of a connection.
struct HTTP1Exchange {
    enum State {
        /// Nothing was sent. Can transition to: streaming, answered, gone.
        case waiting
        /// The head was sent. Can transition to: answered, gone.
        case streaming
        /// The answer is complete. Its last bytes may still wait for the client.
        case answered
        /// The client disconnected before the answer was complete.
        case gone
    }

    /// The number of the request on its connection. Responders have the same number.
    let number: UInt64
    let isHead: Bool
    let isHTTP10: Bool
    /// Whether the connection closes after the answer.
    let isLast: Bool
    var state = State.waiting
    /// Whether parts of a streamed body are sent at all.
    var hasBody = true
    var waitsForDrain = false
    var onClose: (() -> Void)?
    var onDrain: (() -> Void)?

    init(number: UInt64, isHead: Bool, isHTTP10: Bool, isLast: Bool) {
        self.number = number
        self.isHead = isHead
        self.isHTTP10 = isHTTP10
        self.isLast = isLast
    }

    var isOpen: Bool {
        switch state {
        case .waiting, .streaming: true
        case .answered, .gone: false
        }
    }

    mutating func settle(_ state: State) {
        self.state = state
        (onClose, onDrain) = (nil, nil)
    }
}
