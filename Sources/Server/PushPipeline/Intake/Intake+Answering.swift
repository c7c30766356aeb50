import PushLoop
import PushModel
import PushTime
import PushTransport
import PushWire

/// Turns the replies of the ledger into acks for producers.
extension Intake {
    /// Called when the ledger has replied to a group.
    func answered(_ group: RequestGroup, _ answers: GroupAcceptances) {
        let acceptances = answers.all
        precondition(
            acceptances.count == group.requests.count,
            "the ledger gave \(acceptances.count) answers to \(group.requests.count) requests")
        let heldBefore = pullHold.requests.count
        if group.isRetry { pullHold.isRetrying = false }
        var next = 0
        // Messages of one client arrive in runs, so the client is looked up once for each run.
        var run = (caller: RequestGroup.nobody, since: tally.totals)
        unsafe group.identities.withUnsafeBytes { identities in
            for entry in group.entries {
                if entry.caller != run.caller {
                    tally.attribute(since: run.since, to: group.client(run.caller))
                    run = (entry.caller, tally.totals)
                }
                switch entry.answer {
                case .one:
                    let outcome = write(answers, at: next, of: group.requests, to: &answer)
                    next += 1
                    unsafe send("ack/1", outcome, to: entry.receiver, of: group, identities)
                case .batch(let number):
                    let lines = group.batches[number]
                    lines.write(to: &answer) {
                        _ = write(answers, at: next + $0, of: group.requests, to: &$1)
                    }
                    next += lines.requestCount
                    unsafe send("ack-batch/1", .lines, to: entry.receiver, of: group, identities)
                case .none:
                    settle(answers, at: next, of: group.requests[next])
                    next += 1
                }
            }
        }
        tally.attribute(since: run.since, to: group.client(run.caller))
        quotas.answered(group.requests, answers, at: wallClock().unixSeconds)
        // The quotas count held requests as unanswered again: they are handed to the ledger later without another
        // check.
        for request in pullHold.requests[heldBefore...] {
            quotas.hold(request)
            unanswered.count += request.count
        }
        unanswered.count -= group.count
        unanswered.bytes -= group.byteCount
        feelPressure()
        endIfIdle()
    }

    /// Sends the text in `answer` to the receiver of an entry, and clears it.
    private func send(
        _ kind: StaticString, _ outcome: DirectAnswer.Outcome, to receiver: RequestGroup.Receiver,
        of group: RequestGroup, _ identities: UnsafeRawBufferPointer
    ) {
        switch receiver {
        case .routed(let start, let length, let route):
            let identity = unsafe UnsafeRawBufferPointer(rebasing: identities[start..<start + length])
            unsafe say(kind, to: identity, via: group.routes[route])
        case .direct(let index): send(outcome, to: group.replies[index])
        case .nobody: answer.removeAll(keepingCapacity: true)
        }
    }

    /// Sends the text in `answer` as the answer to a call, and clears it.
    func send(_ outcome: DirectAnswer.Outcome, to reply: DirectReply) {
        var text: [UInt8] = []
        text.reserveCapacity(answer.count + 1)
        text.append(contentsOf: answer)
        text.append(UInt8(ascii: "\n"))
        answer.removeAll(keepingCapacity: true)
        reply(DirectAnswer(outcome: outcome, text: text))
    }

    private func write(
        _ answers: GroupAcceptances, at index: Int, of requests: [PushRequest], to text: inout [UInt8]
    ) -> DirectAnswer.Outcome {
        // They are read in place: a copy of a request retains all that it refers to.
        let id = requests[index].message.id
        let acceptance = answers.all[index]
        switch acceptance {
        case .accepted(let seq):
            tally.accepted += 1
            AckText.accepted(
                id: id, seq: seq, apps: apps(answers, at: index, of: requests[index].fellows),
                findings: requests[index].findings, to: &text)
            return .accepted
        case .duplicate(let seq):
            tally.duplicate += 1
            AckText.duplicate(
                id: id, seq: seq, apps: apps(answers, at: index, of: requests[index].fellows),
                findings: requests[index].findings, to: &text)
            return .duplicate
        case .conflict, .expired:
            return reject(rejection(answers, at: index, of: requests[index]), requests[index], &text)
        case .crowded:
            reached(.activities, of: requests[index].message.app)
            let wait = AppQuota.activities.retryAfter
            writeBusy(id, retryAfter: wait, to: &text)
            return .busy(retryAfterMilliseconds: wait.wholeMilliseconds)
        case .withheld:
            tally.busy += 1
            let wait = Self.retryAfterFault.wholeMilliseconds
            AckText.busy(id: id.text, retryAfterMS: wait, to: &text)
            return .busy(retryAfterMilliseconds: wait)
        case .failed(let reason):
            tally.busy += 1
            tally.failed += 1
            sayFailure(reason)
            let wait = Self.retryAfterFault.wholeMilliseconds
            AckText.busy(id: id.text, retryAfterMS: wait, to: &text)
            return .busy(retryAfterMilliseconds: wait)
        }
    }

    /// Returns the statuses of the members of the family that a request is to, as the JSON object of the ack; empty for
    /// a single app.
    private func apps(_ answers: GroupAcceptances, at index: Int, of fellows: FellowRequests?) -> [UInt8] {
        guard let fellows, let family = fellows.family else { return [] }
        let members = answers.members(of: index, as: fellows)
        return AckText.apps(
            of: family, statuses: members.map { if case .duplicate = $0 { "duplicate" } else { "accepted" } })
    }

    /// Returns why a request is not accepted. For a family, the reason names the first member that is the cause.
    private func rejection(
        _ answers: GroupAcceptances, at index: Int, of request: PushRequest
    ) -> (rejection: Rejection, app: AppID) {
        let acceptance = answers.all[index]
        let rejection =
            if case .conflict(let seq) = acceptance { Self.conflict(seq) } else { expired(request.message) }
        guard let fellows = request.fellows, let family = fellows.family,
            let place = answers.members(of: index, as: fellows).firstIndex(of: acceptance),
            place < family.members.count
        else { return (rejection, request.message.app) }
        let app = family.members[place]
        return (Rejection(rejection.reason, detail: "\(app): \(rejection.detail)"), app)
    }

    private func reject(
        _ rejected: (rejection: Rejection, app: AppID), _ request: PushRequest, _ text: inout [UInt8]
    ) -> DirectAnswer.Outcome {
        let id = request.message.id.text
        AckText.rejected(id: id, rejected.rejection, to: &text)
        reportRejection(EnvelopeFault(id: id, rejection: rejected.rejection, app: rejected.app), of: request.client)
        return .rejected(rejected.rejection.reason)
    }

    /// Handles the reply to a request from PULL, which has no ack.
    private func settle(_ answers: GroupAcceptances, at index: Int, of request: PushRequest) {
        switch answers.all[index] {
        case .accepted: tally.accepted += 1
        case .duplicate: tally.duplicate += 1
        case .conflict, .expired:
            let rejected = rejection(answers, at: index, of: request)
            reportRejection(
                EnvelopeFault(id: request.message.id.text, rejection: rejected.rejection, app: rejected.app),
                of: request.client)
        case .crowded:
            let app = request.message.app
            reached(.activities, of: app)
            reportRejection(overQuota(request, quota: .activities, of: app), of: request.client)
        case .withheld: pullHold.requests.append(request)
        case .failed(let text):
            tally.failed += 1
            sayFailure(text)
            pullHold.requests.append(request)
        }
    }

    /// Logs at most once in ten seconds. A fault of the disk is not logged here; the log has it already.
    private func sayFailure(_ text: String) {
        guard fault == nil, failureSaidAt.map({ loop.now - $0 >= .seconds(10) }) ?? true else { return }
        failureSaidAt = loop.now
        settings.log?.warning("ledger rejects new messages: \(text)")
    }

    private static func conflict(_ seq: UInt64) -> Rejection {
        Rejection(
            .idConflict,
            detail: "the message of event \(EventNumber.text(seq)) has this id, with another payload or other options; "
                + "use a new id for a new message")
    }

    private func expired(_ message: Message) -> Rejection {
        // `now`, the time of the current run, may be far in the past: the request may have been held while the disk was
        // full.
        Rejection(
            .expired,
            detail: "expires_at is \(max(0, wallClock().seconds - (message.expiry.expiresAt ?? 0))) s in the past")
    }

    // MARK: Sending acks

    /// Sends the text in `answer` as an ack, and clears it. If the producer's queue is full, the ack waits.
    func say(_ kind: StaticString, to identity: UnsafeRawBufferPointer, via route: AnswerRoute) {
        defer { answer.removeAll(keepingCapacity: true) }
        // In the normal case no acks wait.
        let isBehind = unsafe !acks.waiting.isEmpty && acks.waiting.holds([UInt8](identity))
        if !isBehind {
            switch unsafe transmit(kind, answer, to: identity, via: route) {
            case .sent: return
            case .wouldBlock: break
            case .unreachable, .failed:
                tally.droppedAcks += 1
                return
            }
        }
        let ack = WaitingAcks.Ack(kind: kind, route: route, text: answer)
        if unsafe !acks.waiting.add(ack, for: [UInt8](identity), now: loop.now) { tally.droppedAcks += 1 }
        retryAcksLater()
    }

    func transmit(
        _ kind: StaticString, _ text: [UInt8], to identity: UnsafeRawBufferPointer, via route: AnswerRoute
    ) -> ZMQSendResult {
        guard let router = sockets.router else { return .unreachable }
        return router.send { outbox in
            unsafe outbox.add(identity)
            route.add(to: &outbox)
            outbox.add(kind)
            outbox.add(text)
        }
    }
}
