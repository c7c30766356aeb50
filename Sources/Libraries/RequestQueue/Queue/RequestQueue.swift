public import Foundation

/// A queue of HTTP requests: many at once, with limits for each host and in all.
///
/// Waiting requests start by ``Priority``, and hosts take turns. Failed attempts are repeated by ``RetryRule``, and
/// redirects are followed by ``RedirectRule``. Bodies are streamed from files, and downloads continue where they were
/// cut off.
///
/// ```swift
/// let response = try await RequestQueue.shared.send(.get(url))
/// ```
public actor RequestQueue {
    /// The queue for programs that need no other limits.
    public static let shared = RequestQueue()

    struct Pending {
        let running: RunningRequest
        var request: Request
        let target: DownloadTarget?
        let observer: (any RequestObserver)?
        var transfer: Transfer?
        var answer: (head: ResponseHead, body: Data)?
        var attempts = 0
        var redirects = 0
    }

    /// The file of a download.
    struct DownloadTarget: Sendable {
        let partial: PartialFile
        let maxBytes: Int64
    }

    private let transport: any Transport
    private let close: @Sendable () -> Void
    private let began = ContinuousClock.now
    private var machine: QueueMachine
    var pending: [UInt64: Pending] = [:]
    private var nextID: UInt64 = 1
    /// The files that downloads write, each with the request that does.
    private var writers: [URL: UInt64] = [:]
    private var timer: Task<Void, Never>?
    private var timerTime: Duration?

    /// Creates a queue.
    public init(limits: QueueLimits = QueueLimits()) {
        let transport = SessionTransport.make(maxPerHost: limits.maxRunningPerHost)
        self.init(limits: limits, transport: transport, seed: .random(in: 0 ... .max)) { transport.close() }
    }

    init(
        limits: QueueLimits, transport: any Transport, seed: UInt64, close: @escaping @Sendable () -> Void = {}
    ) {
        self.transport = transport
        self.close = close
        machine = QueueMachine(limits: limits, seed: seed)
    }

    deinit {
        timer?.cancel()
        close()
    }

    /// Sends a request and returns the response. Cancelling the task cancels the request.
    public func send(_ request: Request) async throws(RequestError) -> Response {
        try await Self.result(of: start(request))
    }

    /// Downloads to a file, and continues what an earlier download of the same URL to the same file left.
    ///
    /// The file appears when it is complete, and replaces an earlier one. The body of the response is empty if its status
    /// is 200 or 206; with another status there is no file, and the body is that of the answer.
    public func download(
        _ request: Request, to file: URL, maxBytes: Int64 = .max
    ) async throws(RequestError) -> Response {
        try await Self.result(of: startDownload(request, to: file, maxBytes: maxBytes))
    }

    /// Submits a request. The order of submission is that of the calls.
    public func start(_ request: Request, observer: (any RequestObserver)? = nil) -> RunningRequest {
        submit(request, target: nil, observer: observer)
    }

    /// Submits a download; see ``download(_:to:maxBytes:)``.
    public func startDownload(
        _ request: Request, to file: URL, maxBytes: Int64 = .max, observer: (any RequestObserver)? = nil
    ) -> RunningRequest {
        let partial = PartialFile(destination: file.standardizedFileURL, of: request.url)
        return submit(request, target: DownloadTarget(partial: partial, maxBytes: maxBytes), observer: observer)
    }

    /// The number of transfers that are under way.
    public var runningCount: Int { machine.running }

    /// The number of requests that wait for a place or for their next attempt.
    public var waitingCount: Int { machine.pendingCount }

    private static func result(of running: RunningRequest) async throws(RequestError) -> Response {
        // The result is waited for in any case: a cancelled request ends at once, and its end is its result.
        let result = await withTaskCancellationHandler {
            await Task { await running.box.get() }.value
        } onCancel: {
            running.cancel()
        }
        guard let result else { throw RequestError(.cancelled, message: "the request was cancelled") }
        return try result.get()
    }

    private func submit(
        _ request: Request, target: DownloadTarget?, observer: (any RequestObserver)?
    ) -> RunningRequest {
        let running = RunningRequest(id: nextID, queue: self)
        nextID += 1
        pending[running.id] = Pending(running: running, request: request, target: target, observer: observer)
        if let fault = request.fault ?? targetFault(running.id, request: request, target: target) {
            finish(running.id, with: .failure(fault))
            return running
        }
        let job = QueueMachine.Job(
            url: request.url, method: request.method, hasBody: !request.body.isNone, priority: request.priority,
            retry: request.retry, redirect: request.redirect, timeouts: request.timeouts)
        perform(machine.submitted(running.id, job: job, now: now))
        return running
    }

    private func targetFault(_ id: UInt64, request: Request, target: DownloadTarget?) -> RequestError? {
        guard let target else { return nil }
        let file = target.partial.destination
        if request.method != .get || !file.isFileURL {
            return RequestError(
                .invalidRequest, message: "cannot download \(request.url.plain): a download is a GET to a file")
        }
        guard writers[file] == nil else {
            return RequestError(
                .fileUnwritable,
                message: "cannot download to \(file.path): another download writes this file; wait for its end")
        }
        writers[file] = id
        return nil
    }

    func cancel(_ id: UInt64) {
        perform(machine.cancelled(id, now: now))
    }

    private var now: Duration { began.duration(to: .now) }

    private func perform(_ actions: [QueueMachine.Action]) {
        var queue = actions[...]
        while let action = queue.popFirst() {
            switch action {
            case .start(let id, let attempt): queue += begin(id, attempt: attempt)
            case .redirect(let id, let step): redirect(id, step: step)
            case .stop(let id, _): pending[id]?.transfer?.cancel()
            case .deliver(let id): deliver(id)
            case .fail(let id, let error): finish(id, with: .failure(error))
            }
        }
        schedule()
    }

    private func begin(_ id: UInt64, attempt: Int) -> [QueueMachine.Action] {
        guard let entry = pending[id] else { return [] }
        let request = entry.request
        pending[id]?.attempts += 1
        pending[id]?.answer = nil
        var fields = request.fields
        let body: BodyPlan
        do {
            body = try BodyPlan(request.body)
        } catch {
            let failure = QueueMachine.Failure(kind: .final, error: error)
            return machine.failed(id, attempt: attempt, failure: failure, now: now)
        }
        if fields["Content-Type"] == nil, let type = body.contentType { fields["Content-Type"] = type }
        let sink: any BodySink
        if let target = entry.target {
            let file = FileSink(target.partial, max: target.maxBytes, maxOther: request.maxResponseBytes)
            for (name, value) in file.fields { fields[name] = value }
            sink = file
        } else {
            sink = MemorySink(max: request.maxResponseBytes)
        }
        let transfer = Transfer(
            url: request.url, method: request.method, body: body, sink: sink, attempt: attempt,
            progressed: { [continuation = entry.running.continuation] in continuation.yield($0) },
            ended: { [weak self] outcome in
                // One task for each attempt; the order of the ends of different attempts does not matter.
                Task { await self?.ended(id, attempt: attempt, outcome: outcome) }
            })
        pending[id]?.transfer = transfer
        transport.start(transfer, method: request.method, fields: fields)
        return []
    }

    private func redirect(_ id: UInt64, step: Redirect.Step) {
        pending[id]?.redirects += 1
        pending[id]?.request.url = step.url
        pending[id]?.request.method = step.method
        if step.dropsBody {
            pending[id]?.request.body = .none
            pending[id]?.request.fields["Content-Type"] = nil
            pending[id]?.request.fields["Content-Digest"] = nil
        }
        guard step.dropsCredentials, let rule = pending[id]?.request.redirect else { return }
        for name in RedirectRule.alwaysCredentials + rule.credentials { pending[id]?.request.fields[name] = nil }
    }

    private func ended(_ id: UInt64, attempt: Int, outcome: Transfer.Outcome) {
        switch outcome {
        case .answered(let head, let body):
            if pending[id] != nil { pending[id]?.answer = (head, body) }
            let pause = head.fields["Retry-After"].flatMap {
                RetryAfter.pause($0, now: Int64(Date().timeIntervalSince1970))
            }
            let answer = QueueMachine.Answer(
                status: head.status, location: head.fields["Location"], retryAfter: pause)
            perform(machine.answered(id, attempt: attempt, answer: answer, now: now))
        case .failed(let failure):
            perform(machine.failed(id, attempt: attempt, failure: failure, now: now))
        }
    }

    private func deliver(_ id: UInt64) {
        guard let entry = pending[id], let (head, body) = entry.answer else { return }
        finish(
            id,
            with: .success(
                Response(
                    status: head.status, fields: head.fields, body: body, url: head.url, attempts: entry.attempts,
                    redirects: entry.redirects)))
    }

    private func finish(_ id: UInt64, with result: Result<Response, RequestError>) {
        guard let entry = pending.removeValue(forKey: id) else { return }
        if let file = entry.target?.partial.destination, writers[file] == id { writers[file] = nil }
        entry.running.continuation.finish()
        entry.running.box.set(result)
        switch result {
        case .success(let response): entry.observer?.requestReceived(response, id: id)
        case .failure(let error) where error.code == .cancelled: entry.observer?.requestCancelled(id: id)
        case .failure(let error): entry.observer?.requestFailed(error, id: id)
        }
    }

    /// Sets the timer to the next time at which the machine has something to do.
    private func schedule() {
        // A limit such as the largest duration is not a time to which a clock can count; the timer rings earlier.
        let next = machine.nextTime.map { min($0, now + .seconds(86_400)) }
        // A timer that rings too early asks again.
        if let next, let timerTime, timer != nil, timerTime <= next { return }
        timer?.cancel()
        timer = nil
        timerTime = next
        guard let next else { return }
        let moment = began.advanced(by: next)
        timer = Task { [weak self] in
            try? await Task.sleep(until: moment, clock: .continuous)
            if !Task.isCancelled { await self?.rang() }
        }
    }

    private func rang() {
        timer = nil
        timerTime = nil
        for (id, entry) in pending {
            if let transfer = entry.transfer {
                machine.heard(id, attempt: machine.attempt(of: id), at: began.duration(to: transfer.heard))
            }
        }
        perform(machine.elapsed(now: now))
    }
}
