/// The ends of attempts, and the times at which something happens without an input.
extension QueueMachine {
    /// Takes the answer to an attempt.
    mutating func answered(_ id: ID, attempt: Int, answer: Answer, now: Duration) -> [Action] {
        guard let entry = entries[id], entry.attempt == attempt else { return [] }
        guard case .running = entry.state else { return stopped(id, now: now) }
        release(entry.origin)
        let job = entry.job
        switch Redirect.decide(
            status: answer.status, location: answer.location, from: job.url, method: job.method, hops: entry.hops,
            rule: job.redirect)
        {
        case .follow(let step): return follow(step, id: id, now: now)
        case .refuse(let error):
            forget(id)
            return [.fail(id, error)] + startNext(now: now)
        case .none: break
        }
        if job.retry.statuses.contains(answer.status), mayRepeat(entry),
            (answer.retryAfter ?? .zero) <= job.retry.maxRetryAfter,
            takeBudget(entry.origin)
        {
            return pause(id, atLeast: answer.retryAfter ?? .zero, now: now)
        }
        forget(id)
        return [.deliver(id)] + startNext(now: now)
    }

    /// Takes the failure of an attempt, or the end of one that was stopped.
    mutating func failed(_ id: ID, attempt: Int, failure: Failure, now: Duration) -> [Action] {
        guard let entry = entries[id], entry.attempt == attempt else { return [] }
        guard case .running = entry.state else { return stopped(id, now: now) }
        release(entry.origin)
        return retry(id, entry: entry, failure: failure, now: now)
    }

    /// Takes the passing of time. ``nextTime`` is when it must be called at the latest.
    mutating func elapsed(now: Duration) -> [Action] {
        var actions: [Action] = []
        for id in timed.due(at: now) {
            guard let entry = entries[id] else { continue }
            if let deadline = entry.deadline, deadline <= now {
                if case .stopping = entry.state {
                } else {
                    actions += give(up: id, error: timedOut(entry, "it took longer than its total limit"), now: now)
                    continue
                }
            }
            switch entry.state {
            case .waiting: break
            case .running(let heard):
                guard heard + entry.job.timeouts.idle <= now else { continue }
                let error = timedOut(entry, "no data arrived or left in \(entry.job.timeouts.idle)")
                move(id, to: .stopping(until: now + Self.stopTime, error: error))
                actions.append(.stop(id, attempt: entry.attempt))
            case .stopping(let until, _): if until <= now { actions += stopped(id, now: now) }
            case .pausing(let until):
                guard until <= now else { continue }
                move(id, to: .waiting)
                waiting.add(id, origin: entry.origin, priority: entry.job.priority, atFront: true)
            }
        }
        return actions + startNext(now: now)
    }

    /// The next time at which ``elapsed(now:)`` has something to do; nil if there is none.
    var nextTime: Duration? { timed.next }

    /// The time at which something happens to a request without an input; nil if nothing does.
    static func time(of entry: Entry) -> Duration? {
        switch entry.state {
        case .waiting: entry.deadline
        case .running(let heard): [heard + entry.job.timeouts.idle, entry.deadline].compactMap { $0 }.min()
        case .stopping(let until, _): until
        case .pausing(let until): min(until, entry.deadline ?? until)
        }
    }

    /// Ends a request with an error. Its transfer keeps its place until it has ended.
    mutating func give(up id: ID, error: RequestError, now: Duration) -> [Action] {
        guard let entry = entries[id] else { return [] }
        switch entry.state {
        case .waiting, .pausing:
            remove(id)
            return [.fail(id, error)] + startNext(now: now)
        case .running:
            move(id, to: .stopping(until: now + Self.stopTime, error: nil))
            return [.stop(id, attempt: entry.attempt), .fail(id, error)]
        case .stopping(let until, let earlier):
            guard earlier != nil else { return [] }
            move(id, to: .stopping(until: until, error: nil))
            return [.fail(id, error)]
        }
    }

    private mutating func stopped(_ id: ID, now: Duration) -> [Action] {
        guard let entry = entries[id], case .stopping(_, let error) = entry.state else { return [] }
        release(entry.origin)
        guard let error else {
            forget(id)
            return startNext(now: now)
        }
        return retry(id, entry: entry, failure: Failure(kind: .network, error: error), now: now)
    }

    private mutating func retry(_ id: ID, entry: Entry, failure: Failure, now: Duration) -> [Action] {
        switch failure.kind {
        case .changed where entry.restarts < 2:
            change(id) { $0.restarts += 1 }
            return pause(id, atLeast: .zero, now: now)
        case .network where mayRepeat(entry) && takeBudget(entry.origin):
            return pause(id, atLeast: .zero, now: now)
        case .unsent where entry.failures + 1 < entry.job.retry.maxAttempts && takeBudget(entry.origin):
            return pause(id, atLeast: .zero, now: now)
        case .network, .unsent, .changed, .final:
            forget(id)
            return [.fail(id, failure.error)] + startNext(now: now)
        }
    }

    private func mayRepeat(_ entry: Entry) -> Bool {
        entry.failures + 1 < entry.job.retry.maxAttempts
            && (entry.job.method.isIdempotent || entry.job.retry.retriesUnsafe)
    }

    private mutating func takeBudget(_ origin: Origin) -> Bool {
        var budget = budgets[origin] ?? RetryBudget()
        defer { budgets[origin] = budget }
        return budget.take()
    }

    private mutating func pause(_ id: ID, atLeast least: Duration, now: Duration) -> [Action] {
        guard let rule = entries[id]?.job.retry else { return [] }
        change(id) { $0.failures += 1 }
        let failures = entries[id]?.failures ?? 1
        let pause = Backoff.pause(after: failures, first: rule.firstPause, max: rule.maxPause, jitter: &jitter)
        move(id, to: .pausing(until: now + max(least, pause)))
        return startNext(now: now)
    }

    private mutating func follow(_ step: Redirect.Step, id: ID, now: Duration) -> [Action] {
        guard var entry = entries[id], let origin = Origin(step.url) else { return [] }
        entry.job.url = step.url
        entry.job.method = step.method
        entry.job.hasBody = entry.job.hasBody && !step.dropsBody
        entry.origin = origin
        entry.hops += 1
        entry.state = .waiting
        set(id, to: entry)
        waiting.add(id, origin: origin, priority: entry.job.priority, atFront: true)
        return [.redirect(id, step)] + startNext(now: now)
    }

    private func timedOut(_ entry: Entry, _ reason: String) -> RequestError {
        RequestError(.timedOut, message: "the request to \(entry.job.url.plain) timed out: \(reason)")
    }
}
