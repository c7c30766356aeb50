/// The answers to requests, which handlers give through an ``HTTP1Responder``.
extension HTTP1Connection {
    /// The part of a stream's buffer below which its handler may go on.
    private static let drainedPart = 4

    // MARK: Answering

    func respond(
        to number: UInt64, status: Int, headers: HTTP1Headers, body: [UInt8]
    ) throws(HTTP1Error) {
        loop.assertOnLoop()
        guard try expectWaiting(number) else { return }
        try HTTP1AnswerHead.check(status: status, headers: headers)
        let hasNoBody = HTTP1Status.hasNoBody(status)
        head(status, headers: headers, framing: hasNoBody ? .none : .length(body.count))
            .write(body: exchange.isHead || hasNoBody ? [] : body, to: channel)
        outputWasAdded()
        answerIsComplete()
    }

    /// Answers the current request without its handler.
    func refuse(_ refusal: HTTP1Refusal, method: HTTP1Method?) {
        let answer = HTTP1Refusal.complete(server.writeRefusal?(refusal, method) ?? refusal.plainAnswer)
        do {
            try respond(to: exchange.number, status: answer.status, headers: answer.headers, body: answer.body)
        } catch {
            // The writer gave an answer that cannot be sent. This one can, unless there was an answer before.
            let plain = HTTP1Refusal.complete(refusal.plainAnswer)
            try? respond(to: exchange.number, status: plain.status, headers: plain.headers, body: plain.body)
        }
    }

    func start(_ number: UInt64, status: Int, headers: HTTP1Headers) throws(HTTP1Error) {
        loop.assertOnLoop()
        guard try expectWaiting(number) else { return }
        try HTTP1AnswerHead.check(status: status, headers: headers)
        let hasNoBody = HTTP1Status.hasNoBody(status)
        exchange.hasBody = !hasNoBody && !exchange.isHead
        head(status, headers: headers, framing: hasNoBody || exchange.isHTTP10 ? .none : .chunked)
            .write(body: [], to: channel)
        exchange.state = .streaming
        outputWasAdded()
    }

    func send(_ chunk: [UInt8], in number: UInt64) -> HTTP1Responder.Sent {
        loop.assertOnLoop()
        guard isCurrent(number), case .streaming = exchange.state else { return .closed }
        guard exchange.hasBody, !chunk.isEmpty else { return .more }
        let waiting = channel.outputBacklog
        let bound = limits.streamBufferBytes
        guard waiting == 0 || chunk.count <= bound - waiting else {
            exchange.waitsForDrain = true
            return .refused
        }
        if exchange.isHTTP10 {
            channel.write(chunk)
        } else {
            unsafe channel.write(upTo: chunk.count + 24) { room in
                var pen = unsafe HTTP1Pen(room)
                pen.write(hexadecimal: chunk.count)
                pen.write("\r\n")
                pen.write(chunk[...])
                pen.write("\r\n")
                return pen.count
            }
        }
        outputWasAdded()
        guard channel.outputBacklog > bound / 2 else { return .more }
        exchange.waitsForDrain = true
        return .wait
    }

    func finish(_ number: UInt64) throws(HTTP1Error) {
        loop.assertOnLoop()
        guard number == exchange.number else { throw alreadyAnswered() }
        switch exchange.state {
        case .waiting where isClosed: return
        case .waiting:
            throw HTTP1Error(.badStatus, message: "HTTP/1.1 answer finished before its start: call start first")
        case .answered: throw alreadyAnswered()
        case .gone: return
        case .streaming: break
        }
        guard !isClosed else { return }
        if exchange.hasBody, !exchange.isHTTP10 {
            channel.write(Array("0\r\n\r\n".utf8))
            outputWasAdded()
        }
        answerIsComplete()
    }

    /// Answers or aborts after the last responder was dropped.
    func responderWasDropped(_ number: UInt64) {
        guard isCurrent(number) else { return }
        switch exchange.state {
        case .waiting: refuse(HTTP1Refusal(500, because: "the request was not answered"), method: nil)
        // Abort instead of finishing: the client must not take a partial answer for a complete one.
        case .streaming: abort()
        case .answered, .gone: break
        }
    }

    /// Calls the handler of a stream when a slow client has read most of its output.
    func drainIfWanted() {
        guard case .answering = phase, case .streaming = exchange.state, exchange.waitsForDrain,
            channel.outputBacklog <= limits.streamBufferBytes / Self.drainedPart
        else { return }
        exchange.waitsForDrain = false
        exchange.onDrain?()
    }

    // MARK: Functions for the responder

    func openExchange(_ number: UInt64) -> HTTP1Exchange? {
        loop.assertOnLoop()
        return number == exchange.number && exchange.isOpen ? exchange : nil
    }

    func changeExchange(_ number: UInt64, _ change: (inout HTTP1Exchange) -> Void) {
        loop.assertOnLoop()
        guard number == exchange.number, exchange.isOpen else { return }
        change(&exchange)
    }

    // MARK: Checks

    private var isClosed: Bool { !channel.isOpen }

    private func isCurrent(_ number: UInt64) -> Bool {
        guard case .answering = phase, number == exchange.number else { return false }
        return !isClosed
    }

    /// Returns whether an answer can be sent; it cannot if the client has disconnected.
    private func expectWaiting(_ number: UInt64) throws(HTTP1Error) -> Bool {
        guard number == exchange.number else { throw alreadyAnswered() }
        switch exchange.state {
        case .waiting: return isCurrent(number)
        case .gone: return false
        case .streaming, .answered: throw alreadyAnswered()
        }
    }

    private func alreadyAnswered() -> HTTP1Error {
        HTTP1Error(.alreadyAnswered, message: "HTTP/1.1 request answered twice: the first answer stands")
    }

    private func head(
        _ status: Int, headers: HTTP1Headers, framing: HTTP1AnswerHead.Framing
    ) -> HTTP1AnswerHead {
        HTTP1AnswerHead(
            status: status, headers: headers, framing: framing, closes: exchange.isLast || server.isDraining,
            isHTTP10: exchange.isHTTP10, date: server.dateLine())
    }
}
