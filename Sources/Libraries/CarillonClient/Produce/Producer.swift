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

    let context: ZMQContext
    let settings: ClientSettings
    var machine: ProducerMachine
    var submissions = NumberTable<Submission>()
    var endpoints: EndpointMachine
    var connection: ClientConnection?
    private var timer = DeadlineTimer()
    var retry: TimerID?
    var isFlushing = false
    var isBlocked = false
    var batchText: [UInt8] = []
    var tally = ProducerTally()
    private(set) var isClosed = false
    private var idle: [CheckedContinuation<Void, Never>] = []
    var spooling: Spooling?
    /// The time to read the spool again after a failure.
    var spoolTimer: TimerID?

    init(_ settings: ClientSettings, context: ZMQContext, on loop: EventLoop, spool: SpoolFiles?) {
        self.settings = settings
        self.context = context
        self.loop = loop
        machine = ProducerMachine(settings.producer)
        endpoints = EndpointMachine(settings.endpoints)
        guard let spool, let spoolSettings = settings.spool else { return }
        spooling = Spooling(spool, settings: spoolSettings)
        if spool.cutBytes > 0 {
            settings.log(
                .warning, "the end of the spool was not written completely, and was cut off",
                ["bytes": "\(spool.cutBytes)"])
        }
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

    /// Hands a request to the machine. Returns the error if there is no room, and it is not forced.
    func enter(_ submission: Submission, isForced: Bool = false) -> PushError? {
        guard !isClosed else { return .closed(inDoubt: false) }
        let now = loop.now
        if let error = machine.submit(
            submission.request, ticket: submission.ticket, deadline: now + submission.deadline, now: now,
            isForced: isForced)
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

    // MARK: Time

    func armTimer() {
        guard let time = machine.nextCheck, !isClosed else { return timer.disarm(on: loop) }
        timer.arm(at: max(time, loop.now), on: loop, action: { [weak self] in self?.assumeIsolated { $0.check() } })
    }

    private func check() {
        let (ended, isSilent) = machine.expire(now: loop.now)
        end(ended)
        if isSilent { lost("\(endpoints.endpoint): no ack within \(settings.producer.ackTimeout)") }
        tally.report(to: settings.metrics, machine: machine)
        returnSurplus()
        continueSpool()
        requestFlush()
    }

    // MARK: End

    /// Waits until nothing is under way, at most for a time. New requests are still taken.
    func drain(within limit: Duration) async {
        if machine.isIdle { return }
        // The timer and the wait begin in one job of the loop, so that the timer cannot fire before the wait.
        let timer = loop.schedule(after: limit) { [unowned self] in resumeIdle() }
        await withCheckedContinuation { idle.append($0) }
        loop.cancel(timer)
    }

    /// Stops waiting in ``drain(within:)``.
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
        for timer in [retry.take(), spoolTimer.take()] { if let timer { loop.cancel(timer) } }
        connection?.close()
        connection = nil
        resumeIdle()
    }
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
