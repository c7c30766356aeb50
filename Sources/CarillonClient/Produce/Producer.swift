import PushLoop
import PushTime
import PushTransport

/// The producing half of a client: it executes what ``ProducerMachine`` decides, on one connection at a time.
///
/// The actor is pinned to the loop of the client. Tasks reach it through the mailbox, which they fill from any thread.
actor Producer {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }
    nonisolated let mailbox = PushMailbox()

    private let context: ZMQContext
    let settings: ClientSettings
    var machine: ProducerMachine
    var submissions = NumberTable<Submission>()
    private var endpoints: EndpointMachine
    var connection: ClientConnection?
    private var timer = DeadlineTimer()
    private var retry: TimerID?
    private var isFlushing = false
    private var isBlocked = false
    private var batchText: [UInt8] = []
    var tally = ProducerTally()
    private(set) var isClosed = false
    private var idle: [CheckedContinuation<Void, Never>] = []
    var spooling: Spooling?

    init(_ settings: ClientSettings, context: ZMQContext, on loop: EventLoop, spool: SpoolFiles?) {
        self.settings = settings
        self.context = context
        self.loop = loop
        machine = ProducerMachine(settings.producer)
        endpoints = EndpointMachine(settings.endpoints)
        if let spool, let settings = settings.spool { spooling = Spooling(spool, settings: settings) }
    }

    // MARK: Callable on any thread

    /// Sends a request and returns its outcome.
    nonisolated func perform(_ request: EncodedRequest, deadline: Duration) async -> ProducerMachine.Outcome {
        let ticket = mailbox.nextTicket()
        return await withTaskCancellationHandler {
            // The machine ends each request exactly once, which its walk tests show. A checked continuation would
            // allocate an object for each push.
            unsafe await withUnsafeContinuation { continuation in
                let submission = Submission(
                    ticket: ticket, request: request, deadline: deadline, waiter: unsafe .task(continuation))
                if let error = submit(submission) { submission.waiter.resume(with: .failed(error)) }
            }
        } onCancel: {
            cancel(ticket)
        }
    }

    /// Hands in a request. Returns the error if it was not taken.
    nonisolated func submit(_ submission: Submission) -> PushError? {
        switch mailbox.submit(submission) {
        case .refused(let error): return error
        case .admitted(let wakes):
            if wakes { wake() }
            return nil
        }
    }

    nonisolated func cancel(_ ticket: Ticket) {
        if mailbox.cancel(ticket) { wake() }
    }

    nonisolated func wake() {
        loop.executeUnlessStopped { self.assumeIsolated { $0.collect() } }
    }

    // MARK: Requests

    private func collect() {
        for letter in mailbox.takeAll() {
            switch letter {
            case .submit(let submission): take(submission)
            case .cancel(let ticket):
                if let outcome = machine.cancel(ticket, now: loop.now) { finish(ticket, with: outcome) }
                cancelSpooling(of: ticket)
            }
        }
        start()
        requestFlush()
    }

    private func take(_ submission: Submission) {
        if spools(submission) { return }
        if let error = enter(limited(submission)) { submission.waiter.resume(with: .failed(error)) }
    }

    /// Hands a request to the machine. Returns the error if there is no room.
    func enter(_ submission: Submission) -> PushError? {
        guard !isClosed else { return .closed(inDoubt: false) }
        let now = loop.now
        if let error = machine.submit(
            submission.request, ticket: submission.ticket, deadline: now + submission.deadline, now: now)
        {
            tally.count(.failed(error))
            return error
        }
        submissions[submission.ticket.number] = submission
        return nil
    }

    func finish(_ ticket: Ticket, with outcome: ProducerMachine.Outcome) {
        guard let submission = submissions.remove(ticket.number) else { return }
        if finishSpooled(submission, with: outcome) { return }
        tally.count(outcome)
        submission.waiter.resume(with: outcome)
    }

    // MARK: Sending

    /// Sends at the end of the tick, when everything that the tick brought is there.
    func requestFlush() {
        guard !isFlushing else { return }
        isFlushing = true
        loop.flushAtTickEnd(TickEnd { [unowned self] in flush() })
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

    private func receive(_ message: AckMessage) {
        tally.malformed += message.malformed
        let now = loop.now
        for status in message.statuses {
            if case .busy = status.verdict { tally.busy += 1 }
            if let (ticket, outcome) = machine.receive(status, now: now) { finish(ticket, with: outcome) }
        }
        requestFlush()
    }

    // MARK: Connection

    /// Connects if there is no connection and no attempt. The first request starts the first attempt.
    func start() {
        guard connection == nil, retry == nil, !isClosed else { return }
        do throws(ZMQError) {
            let made = try ClientConnection(
                .dealer, to: endpoints.endpoint, in: context, on: loop, keys: settings.keys
            ) { [unowned self] change in changed(change) }
            listen(to: made.socket)
            connection = made
        } catch {
            lost("\(endpoints.endpoint): \(error.message)")
        }
    }

    private func listen(to socket: ZMQSocket) {
        socket.onMessage = { [unowned self] message in
            let acks = AckMessage(message)
            receive(acks)
        }
        socket.onMalformed = { [unowned self] _, _ in tally.malformed += 1 }
        socket.onWritable = { [unowned self] in
            isBlocked = false
            requestFlush()
        }
    }

    private func changed(_ change: ClientConnection.Change) {
        switch change {
        case .connected:
            endpoints.succeeded()
            isBlocked = false
            machine.connected(now: loop.now)
            settings.log(.info, "connected", ["endpoint": endpoints.endpoint])
            continueSpool()
            requestFlush()
        case .lost(let reason): lost(reason)
        }
    }

    private func lost(_ reason: String) {
        connection?.close()
        connection = nil
        machine.disconnected(problem: reason)
        guard !isClosed else { return }
        let delay = endpoints.failed(chance: Double.random(in: 0...1))
        settings.log(.warning, "connection lost", ["reason": reason, "next": endpoints.endpoint])
        retry = loop.schedule(after: delay) { [weak self] in
            self?.assumeIsolated {
                $0.retry = nil
                $0.start()
            }
        }
        armTimer()
    }

    // MARK: Time

    private func armTimer() {
        guard let time = machine.nextCheck, !isClosed else { return timer.disarm(on: loop) }
        timer.arm(at: max(time, loop.now), on: loop, action: { [weak self] in self?.assumeIsolated { $0.check() } })
    }

    private func check() {
        let (ended, isSilent) = machine.expire(now: loop.now)
        for (ticket, outcome) in ended { finish(ticket, with: outcome) }
        if isSilent { lost("\(endpoints.endpoint): no ack within \(settings.producer.ackTimeout)") }
        tally.report(to: settings.metrics, machine: machine)
        continueSpool()
        requestFlush()
    }

    // MARK: End

    /// Waits until nothing is under way. New requests are still taken.
    func drain() async {
        if machine.isIdle { return }
        await withCheckedContinuation { idle.append($0) }
    }

    /// Stops waiting in ``drain()``.
    func resumeIdle() {
        for continuation in exchange(&idle, with: []) { continuation.resume() }
    }

    /// Ends all requests and the connection.
    func close() {
        guard !isClosed else { return }
        for letter in mailbox.close() {
            if case .submit(let submission) = letter { take(submission) }
        }
        for (ticket, outcome) in machine.end() { finish(ticket, with: outcome) }
        isClosed = true
        tally.report(to: settings.metrics, machine: machine)
        timer.disarm(on: loop)
        if let retry = retry.take() { loop.cancel(retry) }
        connection?.close()
        connection = nil
        resumeIdle()
    }
}

/// A closure that runs at the end of a tick.
private final class TickEnd: TickEndFlushing {
    private let action: () -> Void

    init(_ action: @escaping () -> Void) {
        self.action = action
    }

    func flushAtTickEnd() { action() }
}

extension PushWaiter {
    func resume(with outcome: ProducerMachine.Outcome) {
        switch self {
        case .task(let continuation): unsafe continuation.resume(returning: outcome)
        case .part(let gathering, let index): gathering.finish(index, with: outcome)
        case .spool: break
        }
    }
}
