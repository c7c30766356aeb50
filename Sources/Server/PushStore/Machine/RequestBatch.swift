import PushModel

/// The requests of one call that belong to one log. A ledger of several parts shares the requests of a call between
/// them, so that nothing is copied for a part which gets few of them.
struct RequestBatch {
    private let requests: [PushRequest]
    /// The places of this batch in `requests`; nil if it has all of them.
    private let places: ArraySlice<Int>?
    private let reply: Reply
    /// The approximate number of bytes of a share. A call that is not shared is not measured, because a log of one part
    /// has no bound of bytes.
    let byteCount: Int

    private enum Reply {
        case call(@Sendable ([Acceptance]) -> Void)
        case share(SplitReply)
    }

    init(_ requests: [PushRequest], reply: @escaping @Sendable ([Acceptance]) -> Void) {
        self.requests = requests
        places = nil
        byteCount = 0
        self.reply = .call(reply)
    }

    /// - Parameter places: Places in `requests`.
    init(_ requests: [PushRequest], at places: ArraySlice<Int>, reply: SplitReply) {
        self.requests = requests
        self.places = places
        self.reply = .share(reply)
        byteCount = places.reduce(0) { $0 + requests[$1].size }
    }

    var count: Int { places?.count ?? requests.count }

    /// The request is read in place. The subscript of an array returns a copy, which retains all that it refers to.
    subscript(index: Int) -> PushRequest {
        _read {
            let place = if let places { places[places.startIndex + index] } else { index }
            yield requests.span[place]
        }
    }

    /// Takes as many answers as there are requests.
    func answer(_ answers: ArraySlice<Acceptance>) {
        switch reply {
        case .call(let reply): reply(Array(answers))
        case .share(let split): split.take(answers, at: places ?? [])
        }
    }

    /// Answers all requests alike.
    func answer(_ answer: Acceptance) { self.answer(Array(repeating: answer, count: count)[...]) }
}
