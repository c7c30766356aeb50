import PushLoop
import PushModel
import PushTime
import PushTransport
import PushWire

/// Turns the frames of a message into requests of the group, or into acks that need no ledger.
extension Intake {
    func receive(_ received: RequestFrames, from source: Source) {
        var frames = received
        frames.caller = caller(of: received)
        beginRun()
        tally.messages += 1
        let before = tally.totals
        defer { tally.attribute(since: before, to: frames.caller.name) }
        switch (source, frames.kind) {
        case (.router, .single(let envelope, let payload)): unsafe ask(envelope, payload, in: frames)
        case (.router, .batch(let lines)): unsafe askBatch(lines, in: frames)
        case (.router, .cancel(let request)): unsafe cancel(request, in: frames)
        case (.router, .cluster): tellNodes(to: frames)
        case (.router, .bad(let rejection, let envelope, let isBatch)):
            let id = unsafe envelope.flatMap { unsafe EnvelopeSkim.id($0)?.text }
            let kind: StaticString = isBatch ? "ack-batch/1" : "ack/1"
            refuse(EnvelopeFault(id: id, rejection: rejection, app: nil), kind, frames)
        case (.pull, .single(let envelope, let payload)): unsafe take(envelope, payload, from: frames)
        case (.pull, .batch(let lines)): unsafe takeBatch(lines, from: frames)
        case (.pull, .cancel):
            let rejection = Rejection(.badFrame, detail: "cancel/1 has an ack, so it needs the ROUTER socket")
            reportRejection(EnvelopeFault(id: nil, rejection: rejection, app: nil), of: frames.caller.name)
        case (.pull, .cluster):
            let rejection = Rejection(.badFrame, detail: "cluster/1 has an answer, so it needs the ROUTER socket")
            reportRejection(EnvelopeFault(id: nil, rejection: rejection, app: nil), of: frames.caller.name)
        case (.pull, .bad(let rejection, let envelope, _)):
            let id = unsafe envelope.flatMap { unsafe EnvelopeSkim.id($0)?.text }
            reportRejection(EnvelopeFault(id: id, rejection: rejection, app: nil), of: frames.caller.name)
        }
    }

    // MARK: Requests with an ack (ROUTER)

    private func ask(
        _ envelope: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer?, in frames: RequestFrames
    ) {
        let size = unsafe envelope.count + (payload?.count ?? 0)
        tally.bytes += UInt64(size)
        if isFull {
            tally.busy += 1
            unsafe AckText.busy(
                id: EnvelopeSkim.id(envelope)?.text, retryAfterMS: retryAfter.wholeMilliseconds, to: &answer)
            unsafe say("ack/1", to: frames.identity, via: frames.route)
            return
        }
        do throws(EnvelopeFault) {
            let request = unsafe try read(envelope, payload, from: frames.caller)
            if let quota = admit(request, canWait: true) {
                writeBusy(request.message.id, retryAfter: quota.quota.retryAfter, to: &answer)
                unsafe say("ack/1", to: frames.identity, via: frames.route)
                return
            }
            let count = request.count
            unsafe group.add(request, from: frames.identity, via: frames.route)
            addLoad(requests: count, bytes: size + frames.route.byteCount)
        } catch {
            refuse(error, "ack/1", frames)
        }
    }

    private func askBatch(_ text: UnsafeRawBufferPointer, in frames: RequestFrames) {
        tally.bytes += UInt64(text.count)
        if isFull {
            let lines = unsafe refuseLines(text, of: frames.caller.name)
            sockets.router?.took(lines: lines)
            unsafe say("ack-batch/1", to: frames.identity, via: frames.route)
            return
        }
        do throws(Rejection) {
            let lines = unsafe try readLines(text, of: frames.caller)
            sockets.router?.took(lines: lines.lineCount)
            if lines.requestCount == 0 {
                lines.write(to: &answer) { _, _ in }
                unsafe say("ack-batch/1", to: frames.identity, via: frames.route)
            } else {
                unsafe group.add(
                    lines, from: frames.identity, via: frames.route, client: frames.caller.name)
                addLoad(requests: 0, bytes: text.count + frames.route.byteCount)
            }
        } catch {
            // The batch as a whole is invalid, so there is one status and not one for each line.
            refuse(EnvelopeFault(id: nil, rejection: error, app: nil), "ack-batch/1", frames)
        }
    }

    /// Adds the requests of a batch to the group, and returns the lines for its ack.
    func readLines(_ text: UnsafeRawBufferPointer, of caller: Caller) throws(Rejection) -> BatchLines {
        let wait = retryAfter
        var lines = BatchLines()
        unsafe try reader.readBatch(text, now: run.now) { result in
            switch allow(result, caller) {
            case .success(let request):
                if isFull {
                    lines.say { writeBusy(request.message.id, retryAfter: wait, to: &$0) }
                } else if let quota = admit(request, canWait: true) {
                    lines.say { writeBusy(request.message.id, retryAfter: quota.quota.retryAfter, to: &$0) }
                } else {
                    unanswered.count += request.count
                    group.addLine(request)
                    lines.asked()
                }
            case .failure(let fault):
                lines.say { AckText.rejected(id: fault.id, fault.rejection, to: &$0) }
                reportRejection(fault, of: caller.name)
            }
        }
        return lines
    }

    func refuse(_ fault: EnvelopeFault, _ kind: StaticString, _ frames: RequestFrames) {
        AckText.rejected(id: fault.id, fault.rejection, to: &answer)
        unsafe say(kind, to: frames.identity, via: frames.route)
        reportRejection(fault, of: frames.caller.name)
    }

    /// Answers `busy` for each line of a batch, with its id, when intake is full. A batch that is invalid in any case
    /// is answered `rejected` once. Returns the number of lines.
    @discardableResult
    func refuseLines(_ text: UnsafeRawBufferPointer, of client: String?) -> Int {
        let wait = retryAfter.wholeMilliseconds
        var (start, lines) = (0, 0)
        while start < text.count {
            guard lines < EnvelopeReader.maxLines else {
                answer.removeAll(keepingCapacity: true)
                sayOnce(
                    Rejection(.tooMany, detail: "there are more than \(EnvelopeReader.maxLines) lines"), of: client)
                return lines
            }
            let end = unsafe EnvelopeSkim.find(UInt8(ascii: "\n"), in: text, from: start) ?? text.count
            let id = unsafe EnvelopeSkim.id(UnsafeRawBufferPointer(rebasing: text[start..<end]))
            if start > 0 { answer.append(UInt8(ascii: "\n")) }
            AckText.busy(id: id?.text, retryAfterMS: wait, to: &answer)
            start = end + 1
            lines += 1
        }
        if lines == 0 { sayOnce(Rejection(.badFrame, detail: "there is no line in the frame"), of: client) }
        tally.busy += UInt64(lines)
        return lines
    }

    private func sayOnce(_ rejection: Rejection, of client: String?) {
        AckText.rejected(id: nil, rejection, to: &answer)
        reportRejection(EnvelopeFault(id: nil, rejection: rejection, app: nil), of: client)
    }

    // MARK: Requests without an ack (PULL)

    private func take(
        _ envelope: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer?, from frames: RequestFrames
    ) {
        let size = unsafe envelope.count + (payload?.count ?? 0)
        tally.bytes += UInt64(size)
        do throws(EnvelopeFault) {
            let request = unsafe try read(envelope, payload, from: frames.caller)
            if let quota = admit(request, canWait: false) {
                reportRejection(overQuota(request, quota: quota.quota, of: quota.app), of: request.client)
            } else {
                group.add(request)
                addLoad(requests: request.count, bytes: size)
            }
        } catch {
            reportRejection(error, of: frames.caller.name)
        }
        if isFull { feelPressure() }
    }

    private func takeBatch(_ text: UnsafeRawBufferPointer, from frames: RequestFrames) {
        tally.bytes += UInt64(text.count)
        let caller = frames.caller
        let before = unanswered.count
        do throws(Rejection) {
            unsafe try reader.readBatch(text, now: run.now) { result in
                sockets.pull?.took(lines: 1)
                switch allow(result, caller) {
                case .success(let request):
                    if let quota = admit(request, canWait: false) {
                        reportRejection(overQuota(request, quota: quota.quota, of: quota.app), of: request.client)
                    } else {
                        group.add(request)
                        unanswered.count += request.count
                    }
                case .failure(let fault): reportRejection(fault, of: caller.name)
                }
            }
            // If no request was added, no reply of the ledger would subtract the bytes again.
            if unanswered.count > before { addLoad(requests: 0, bytes: text.count) }
        } catch {
            reportRejection(EnvelopeFault(id: nil, rejection: error, app: nil), of: frames.caller.name)
        }
        if isFull { feelPressure() }
    }

    // MARK: Shared by both sockets

    func read(
        _ envelope: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer?, from caller: Caller
    ) throws(EnvelopeFault) -> PushRequest {
        do throws(EnvelopeFault) {
            var request = unsafe try reader.read(envelope, payload: payload, now: run.now)
            if let fault = caller.fault(of: request) { throw fault }
            request.client = caller.name
            return request
        } catch {
            throw caller.mayKnow(error)
        }
    }

    func allow(
        _ result: consuming Result<PushRequest, EnvelopeFault>, _ caller: Caller
    ) -> Result<PushRequest, EnvelopeFault> {
        switch consume result {
        case .success(var request):
            if let fault = caller.fault(of: request) { return .failure(fault) }
            request.client = caller.name
            return .success(request)
        case .failure(let fault): return .failure(caller.mayKnow(fault))
        }
    }

    /// Returns the caller of a message. Messages of one client arrive in runs, so the lookup is repeated only when the
    /// sender changes.
    private func caller(of frames: RequestFrames) -> Caller {
        guard let sender = unsafe frames.sender else { return .anyone }
        if let last = callers.last, frames.isSent(by: last.userID) { return last.caller }
        let userID = unsafe String(decoding: sender, as: UTF8.self)
        let caller = callers.rights.client(withUserID: userID).map { Caller.client($0) } ?? .stranger(userID: userID)
        callers.last = unsafe ([UInt8](sender), caller)
        return caller
    }

    /// Counts a request against the quotas of its app, or of all members of its family. Returns nil if they have room,
    /// or else the first app without, and the limit that it has reached; then nothing is counted.
    func admit(_ request: PushRequest, canWait: Bool) -> (quota: AppQuota, app: AppID)? {
        if let quota = admit(request.message, canWait: canWait) { return (quota, request.message.app) }
        guard let fellows = request.fellows else { return nil }
        for (index, other) in fellows.others.enumerated() {
            guard let quota = admit(other.message, canWait: canWait) else { continue }
            quotas.release(request.message)
            for admitted in fellows.others[..<index] { quotas.release(admitted.message) }
            return (quota, other.message.app)
        }
        return nil
    }

    /// Counts the message against the quotas of its app. Returns nil if the app has room, or else the limit that it has
    /// reached.
    ///
    /// - Parameter canWait: whether the producer can send the request again (ROUTER). A request from PULL would be
    ///   lost, so it is admitted while the pipeline is crowded, and the PULL socket is paused when the pipeline is
    ///   full.
    private func admit(_ message: Message, canWait: Bool) -> AppQuota? {
        let isCrowded = canWait && run.backlog + unanswered.count >= limits.backlog
        let share = isCrowded ? limits.backlog / quotas.appCount : nil
        let quota = quotas.admit(message, at: run.now, run: run.number, share: share, load: load)
        if let quota { reached(quota, of: message.app) }
        return quota
    }

    /// Counts a request that was not accepted because its app has reached a limit, and reports the limit.
    func reached(_ quota: AppQuota, of app: AppID) {
        tally.overQuota[quota, default: 0] += 1
        if quotas.isWorthReport(quota, of: app, at: run.now) {
            settings.quotaReached(app, quota, quota.detail(app, quotas.limits(of: app)))
        }
    }

    func writeBusy(_ id: MessageID, retryAfter wait: Duration, to text: inout [UInt8]) {
        tally.busy += 1
        AckText.busy(id: id.text, retryAfterMS: wait.wholeMilliseconds, to: &text)
    }

    func overQuota(_ request: PushRequest, quota: AppQuota, of app: AppID) -> EnvelopeFault {
        return EnvelopeFault(
            id: request.message.id.text,
            rejection: Rejection(.tooMany, detail: quota.detail(app, quotas.limits(of: app))),
            app: app)
    }

    /// The number of requests from which on a group does not wait for the end of the tick.
    private static let maxGroup = 16_000

    /// Counts what was added to the group, whose last entry must be complete.
    func addLoad(requests: Int, bytes: Int) {
        unanswered.count += requests
        unanswered.bytes += bytes
        group.byteCount += bytes
        if group.count >= Self.maxGroup { handInGroup() }
    }

    /// Counts a rejection. Within the rate limit it also records an event and a log line.
    ///
    /// - Parameter client: the client's configured name; nil without CURVE, and for a key that was removed.
    func reportRejection(_ fault: EnvelopeFault, of client: String?) {
        tally.count(fault.rejection.reason)
        let (skipped, isAllowed) = budgets.take(client: client, app: fault.app, now: loop.now)
        guard isAllowed else {
            tally.skippedEvents += 1
            return
        }
        let id = fault.id.flatMap { MessageID($0) }
        var draft = EventDraft(.messageRejected, app: fault.app)
        draft.messageID = id
        draft.reason = fault.rejection.reason.rawValue
        draft.add("detail", text: fault.rejection.detail)
        draft.add("client", text: client)
        if skipped > 0 { draft.add("skipped", number: skipped) }
        notes.append(draft)
        settings.log?.warning(
            "message rejected",
            [
                .event: "message.rejected", .client: client ?? "-", .app: fault.app?.name ?? "-",
                .messageID: id?.text ?? "-", .reason: fault.rejection.reason.rawValue,
                .detail: fault.rejection.detail,
            ])
        askForFlush()
    }
}

extension LogKey {
    fileprivate static let app = LogKey("app")
    fileprivate static let client = LogKey("client")
    fileprivate static let detail = LogKey("detail")
    fileprivate static let event = LogKey("event")
    fileprivate static let messageID = LogKey("message_id")
}
