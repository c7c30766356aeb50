import PushLogic
import PushLoop
import PushModel

/// Turns the result of an attempt into the outcome of the delivery.
extension Gateway {
    func receive(_ report: ConnectionReport) {
        let id = report.connection
        if !report.ended.isEmpty {
            var tally = AnswerTally()
            tally.ended = report.ended.count
            // A busy tick brings about as many results as the one before.
            if reports.isEmpty { reports.reserveCapacity(max(report.ended.count, lastReportSize)) }
            let ended = report.ended.span
            for index in ended.indices { take(ended[index], from: id, into: &tally) }
            if !resends.isEmpty { putBack() }
            run(machine.ended(tally, on: id, now: loop.now))
        }
        if let event = report.event { happened(event, to: id) }
        askForFlush()
    }

    /// Moves what is sent again to the front of the queue, without what expired or was cancelled meanwhile.
    private func putBack() {
        let time = settings.wallClock()
        resends.removeAll { delivery in
            if delivery.mayBegin(at: time) { return false }
            report(delivery, as: delivery.message.isWithdrawn ? nil : .expired)
            return true
        }
        counts.requeued += UInt64(resends.count)
        queue.prepend(resends)
        machine.requeued(resends.count)
        resends.removeAll(keepingCapacity: true)
    }

    private func happened(_ event: ConnectionEvent, to id: ConnectionID) {
        let now = loop.now
        switch event {
        case .ready(let limit):
            run(machine.ready(id, limit: limit, now: now))
        case .limitChanged(let limit):
            run(machine.limitChanged(id, to: limit, now: now))
        case .goAway(let text):
            let reason = text.map(ProviderReason.init(rawValue:))
            run(machine.goAway(id, reason: reason, disposition: disposition(ofEnd: reason), now: now))
        case .retiring:
            run(machine.retiring(id, now: now))
        case .alive:
            run(machine.alive(id, now: now))
        case .recalled(let number):
            if let index = held.firstIndex(where: { $0.id == id }) { held[index].recalled = number }
        case .closed(let end):
            held.removeAll { $0.id == id }
            run(machine.closed(id, end: end, disposition: disposition(ofEnd: end.reason), now: now))
        case .failing(let origin, let pause):
            if let fault = origin.fault {
                let end = ConnectionEnd(.unreachable, fault: fault)
                events.append(.down(id, address: origin.name, end, age: .zero, answered: 0))
            }
            events.append(.breakerOpened(for: pause, .origin(origin)))
        }
    }

    /// Returns how to treat the end of a connection. An unknown reason counts as no reason: the provider wanted the
    /// connection to end.
    private func disposition(ofEnd reason: ProviderReason?) -> Disposition {
        guard let reason else { return .retry }
        return settings.reasons.disposition(status: 503, reason: reason)
    }

    private func take(_ ended: AttemptReport, from id: ConnectionID, into tally: inout AnswerTally) {
        let delivery = ended.delivery
        switch ended.result {
        case .accepted(let providerID):
            tally.accepted += 1
            report(delivery, as: .sent(providerID: providerID), latency: ended.latency)
        case .unknown(let cause):
            if settings.reasons.isTroubleOfProvider(cause) {
                tally.failed += 1
                tally.failedDevices.note(delivery.token)
            } else {
                tally.unknown += 1
            }
            report(delivery, as: .unanswered(cause, of: delivery.message), latency: ended.latency)
        case .notProcessed:
            tally.notProcessed += 1
            // Status 0 means that there was no response.
            requeue(delivery, orRetry: Refusal(status: 0, reason: nil), latency: ended.latency)
        case .refused(let refusal):
            if settings.reasons.isTroubleOfProvider(refusal) {
                tally.failed += 1
                tally.failedDevices.note(delivery.token)
                if let asked = refusal.retryAfter { tally.pause = max(tally.pause ?? .zero, .seconds(asked)) }
            } else {
                tally.refused += 1
            }
            judge(refusal, of: ended, from: id, into: &tally)
        }
    }

    private func judge(
        _ refusal: Refusal, of ended: AttemptReport, from id: ConnectionID, into tally: inout AnswerTally
    ) {
        let delivery = ended.delivery
        switch settings.reasons.disposition(of: refusal) {
        case .renewToken where machine.isTrial(id), .renewTokenOnce where machine.isTrial(id),
            .halt where machine.isTrial(id):
            tally.asksForAnother = true
            tally.credentialFault = ConnectionFault(refused: refusal, by: settings.reasons)
            requeueTrial(delivery)
        case .drop:
            report(delivery, as: .rejected(refusal, deactivates: nil), latency: ended.latency)
        case .deactivate:
            report(
                delivery, as: .rejected(refusal, deactivates: settings.reasons.end(of: refusal)), latency: ended.latency
            )
        case .retry:
            retryLater(ended, after: refusal)
        case .slowMinting:
            tokens?.mintedTooOften()
            retryLater(ended, after: refusal)
        case .reconnect:
            // The answer is about the connection. If another one gives it, too, it may be about the delivery.
            if delivery.attempt > 1 {
                tally.turnedAway += 1
                return retryLater(ended, after: refusal)
            }
            tally.asksForAnother = true
            requeue(delivery, orRetry: refusal, latency: ended.latency)
        case .renewToken:
            noteToken(of: ended, refusal: refusal, from: id, into: &tally)
            requeue(delivery, orRetry: refusal, latency: ended.latency)
        case .renewTokenOnce:
            let generation = noteToken(of: ended, refusal: refusal, from: id, into: &tally)
            var mark = marks[delivery.ticket] ?? Mark()
            if mark.tokenWasRefused, generation == nil || generation != mark.refusedToken {
                tally.halt = halt(refusal, how: "twice, the second time with a new token")
            }
            mark.tokenWasRefused = true
            mark.refusedToken = generation
            marks[delivery.ticket] = mark
            requeue(delivery, orRetry: refusal, latency: ended.latency)
        case .halt:
            tally.halt = halt(refusal, how: "permanently")
            tally.credentialFault = ConnectionFault(refused: refusal, by: settings.reasons)
            // The delivery waits with the others for another credential, without a limit of attempts.
            resends.append(delivery)
        }
    }

    /// Puts the delivery of an attempt behind the others, because the refusal may concern this delivery alone.
    private func requeueTrial(_ delivery: Delivery) {
        counts.requeued += 1
        queue.append(delivery)
        machine.requeued(1)
    }

    private func halt(_ refusal: Refusal, how: String) -> GatewayHalt {
        GatewayHalt(
            .refused,
            message: "the provider refused the credential of app \(app) \(how): \(refusal.status)"
                + "\(refusal.reason.map { " \($0)" } ?? ""); \(settings.reasons.credentialAdvice(for: refusal.reason))",
            reason: refusal.reason)
    }

    @discardableResult
    private func noteToken(
        of ended: AttemptReport, refusal: Refusal, from id: ConnectionID, into tally: inout AnswerTally
    ) -> UInt64? {
        tally.asksForAnother = true
        tally.credentialFault = ConnectionFault(refused: refusal, by: settings.reasons)
        guard let generation = machine.token(of: id, leftAt: loop.now + (.zero - ended.latency)) else { return nil }
        tally.refusedToken = max(tally.refusedToken ?? 0, generation)
        return generation
    }

    private func retryLater(_ ended: AttemptReport, after refusal: Refusal) {
        if settings.reasons.mayHaveArrived(refusal) {
            // The producer decides whether a notification that may have been delivered is sent again.
            let unknown = DeliveryOutcome.unanswered(.serverError, of: ended.delivery.message)
            if unknown.final != nil { return report(ended.delivery, as: unknown, latency: ended.latency) }
        }
        let delay = machine.retryDelay(attempt: Int(ended.delivery.attempt), asked: refusal.retryAfter)
        report(
            ended.delivery, as: .refused(refusal, retryAfter: delay, of: ended.delivery.message),
            latency: ended.latency)
    }

    private func requeue(_ delivery: Delivery, orRetry refusal: Refusal, latency: Duration) {
        // A delivery that was not written, or that the peer discarded because of another one, waits as before.
        if delivery.attempt == marks[delivery.ticket]?.attempt ?? 0 { return resends.append(delivery) }
        var mark = marks[delivery.ticket] ?? Mark()
        mark.requeues += 1
        mark.attempt = delivery.attempt
        guard mark.requeues <= settings.policy.requeueLimit else {
            // Many requeues count as one failed attempt for the delay, because they may all have happened within a
            // moment.
            let failures = Int(delivery.attempt) / mark.requeues
            let delay = machine.retryDelay(attempt: failures, asked: refusal.retryAfter)
            return report(
                delivery, as: .refused(refusal, retryAfter: delay, of: delivery.message), latency: latency)
        }
        marks[delivery.ticket] = mark
        resends.append(delivery)
    }

    /// Reports the outcome of a delivery, or nil if it is returned unchanged. Every delivery leaves the gateway here.
    func report(
        _ delivery: consuming Delivery, as outcome: consuming DeliveryOutcome?, latency: Duration = .zero
    ) {
        if !marks.isEmpty { marks[delivery.ticket] = nil }
        switch outcome {
        case .sent: counts.accepted += 1
        case .rejected: counts.rejected += 1
        case .retry: counts.retried += 1
        case .unknown: counts.unknown += 1
        case .expired: counts.expired += 1
        case nil: counts.returned += 1
        // A gateway never suppresses a delivery.
        case .suppressed, .superseded, .expiredBecause: break
        }
        reports.append(DeliveryReport(of: delivery, outcome, latency: latency))
    }
}
