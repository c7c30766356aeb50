import PushLoop
import PushTransport

/// What goes out, and the answers to it.
extension Producer {
    /// Sends at the end of the tick, when everything that the tick brought is there.
    func requestFlush() {
        guard !isFlushing else { return }
        isFlushing = true
        loop.flushAtTickEnd(FlushAtTickEnd { [unowned self] in flush() })
    }

    private func flush() {
        isFlushing = false
        guard !isClosed else { return }
        while !isBlocked, let connection, let batch = machine.next(now: loop.now) {
            let result = send(batch, on: connection.socket)
            guard case .sent = result else {
                machine.notSent(batch)
                isBlocked = true
                if case .failed(let error) = result { lost("\(connection.endpoint): \(error.message)") }
                break
            }
        }
        armTimer()
        if machine.isIdle { resumeIdle() }
    }

    private func send(_ batch: ProducerMachine.Batch, on socket: ZMQSocket) -> ZMQSendResult {
        if batch.tickets.count == 1, let request = machine.request(batch.tickets[0]) {
            return socket.send { outbox in
                switch request.kind {
                case .push: outbox.add("push/1")
                case .cancel: outbox.add("cancel/1")
                }
                outbox.add(request.envelope)
                if let payload = request.payload { outbox.add(payload) }
            }
        }
        batchText.removeAll(keepingCapacity: true)
        for ticket in batch.tickets {
            guard let request = machine.request(ticket) else { continue }
            batchText.append(contentsOf: request.envelope)
            batchText.append(UInt8(ascii: "\n"))
        }
        return socket.send { outbox in
            outbox.add("push-batch/1")
            outbox.add(batchText)
        }
    }

    // MARK: Answers

    func receive(_ message: AckMessage) {
        tally.malformed += message.malformed
        let now = loop.now
        // A peer that ends each connection without an answer is not asked at once again.
        if !message.statuses.isEmpty { endpoints.succeeded() }
        for status in message.statuses {
            if case .busy = status.verdict { tally.busy += 1 }
            if let (ticket, outcome) = machine.receive(status, now: now) { finish(ticket, with: outcome) }
        }
        requestFlush()
    }
}

/// A closure that runs at the end of a tick.
private final class FlushAtTickEnd: TickEndFlushing {
    private let action: () -> Void

    init(_ action: @escaping () -> Void) {
        self.action = action
    }

    func flushAtTickEnd() { action() }
}
