import PushLoop
import PushModel
import PushTime
import PushTransport
import PushWire

/// From the frames of a message to requests in the group, and to answers that need no ledger.
extension Intake {
    func receive(_ frames: RequestFrames, at door: Door) {
        beginRun()
        tally.messages += 1
        switch (door, frames.kind) {
        case (.router, .single(let envelope, let payload)): unsafe ask(envelope, payload, in: frames)
        case (.router, .batch(let lines)): unsafe askBatch(lines, in: frames)
        case (.router, .bad(let rejection, let envelope)):
            refuse(unsafe envelope.flatMap { unsafe EnvelopeSkim.id($0)?.text }, rejection, "ack/1", frames)
        case (.pull, .single(let envelope, let payload)): unsafe take(envelope, payload, from: frames)
        case (.pull, .batch(let lines)): unsafe takeBatch(lines, from: frames)
        case (.pull, .bad(let rejection, let envelope)):
            let id = unsafe envelope.flatMap { unsafe EnvelopeSkim.id($0)?.text }
            tell(EnvelopeFault(id: id, rejection: rejection, app: nil))
        }
    }

    // MARK: With an answer

    private func ask(
        _ envelope: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer?, in frames: RequestFrames
    ) {
        let size = unsafe envelope.count + (payload?.count ?? 0)
        tally.bytes += UInt64(size)
        if isFull {
            tally.busy += 1
            unsafe AckText.busy(
                id: EnvelopeSkim.id(envelope)?.text, retryAfterMS: retryAfter.wholeMilliseconds, to: &answer)
            unsafe say("ack/1", to: frames.identity, frames.hasDelimiter)
            return
        }
        do throws(EnvelopeFault) {
            let request = unsafe try read(envelope, payload, from: caller(of: frames))
            unsafe group.add(request, from: frames.identity, hasDelimiter: frames.hasDelimiter)
            weigh(1, size)
        } catch {
            refuse(error.id, error.rejection, "ack/1", frames)
        }
    }

    private func askBatch(_ text: UnsafeRawBufferPointer, in frames: RequestFrames) {
        tally.bytes += UInt64(text.count)
        if isFull {
            unsafe refuseLines(text)
            unsafe say("ack-batch/1", to: frames.identity, frames.hasDelimiter)
            return
        }
        let caller = caller(of: frames)
        let wait = retryAfter.wholeMilliseconds
        var lines = BatchLines()
        do throws(Rejection) {
            unsafe try reader.readBatch(text, now: now) { result in
                switch allow(result, caller) {
                case .success(let request):
                    if isFull {
                        tally.busy += 1
                        lines.say { AckText.busy(id: request.message.id.text, retryAfterMS: wait, to: &$0) }
                    } else {
                        group.addLine(request)
                        lines.asked()
                        unanswered += 1
                    }
                case .failure(let fault):
                    count(fault.rejection)
                    lines.say { AckText.rejected(id: fault.id, fault.rejection, to: &$0) }
                }
            }
        } catch {
            // It has no lines to speak of, so one status is for all.
            refuse(nil, error, "ack-batch/1", frames)
            return
        }
        if lines.requestCount == 0 {
            lines.write(to: &answer) { _, _ in }
            unsafe say("ack-batch/1", to: frames.identity, frames.hasDelimiter)
        } else {
            unsafe group.add(lines, from: frames.identity, hasDelimiter: frames.hasDelimiter)
            weigh(0, text.count)
        }
    }

    private func refuse(_ id: String?, _ rejection: Rejection, _ kind: StaticString, _ frames: RequestFrames) {
        count(rejection)
        AckText.rejected(id: id, rejection, to: &answer)
        unsafe say(kind, to: frames.identity, frames.hasDelimiter)
    }

    /// All lines of a batch that there is no room for, by their ids; as one, if it is none that would ever be taken.
    private func refuseLines(_ text: UnsafeRawBufferPointer) {
        let wait = retryAfter.wholeMilliseconds
        var (start, lines) = (0, 0)
        while start < text.count {
            guard lines < EnvelopeReader.mostLines else {
                answer.removeAll(keepingCapacity: true)
                return sayOnce(Rejection(.tooMany, "there are more than \(EnvelopeReader.mostLines) lines"))
            }
            let end = unsafe EnvelopeSkim.find(UInt8(ascii: "\n"), in: text, from: start) ?? text.count
            let id = unsafe EnvelopeSkim.id(UnsafeRawBufferPointer(rebasing: text[start..<end]))
            if start > 0 { answer.append(UInt8(ascii: "\n")) }
            AckText.busy(id: id?.text, retryAfterMS: wait, to: &answer)
            start = end + 1
            lines += 1
        }
        if lines == 0 { return sayOnce(Rejection(.badFrame, "there is no line in it")) }
        tally.busy += UInt64(lines)
    }

    private func sayOnce(_ rejection: Rejection) {
        count(rejection)
        AckText.rejected(id: nil, rejection, to: &answer)
    }

    // MARK: Without an answer

    private func take(
        _ envelope: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer?, from frames: RequestFrames
    ) {
        let size = unsafe envelope.count + (payload?.count ?? 0)
        tally.bytes += UInt64(size)
        do throws(EnvelopeFault) {
            group.add(unsafe try read(envelope, payload, from: caller(of: frames)))
            weigh(1, size)
        } catch {
            tell(error)
        }
        if isFull { feelPressure() }
    }

    private func takeBatch(_ text: UnsafeRawBufferPointer, from frames: RequestFrames) {
        tally.bytes += UInt64(text.count)
        let caller = caller(of: frames)
        let before = unanswered
        do throws(Rejection) {
            unsafe try reader.readBatch(text, now: now) { result in
                switch allow(result, caller) {
                case .success(let request):
                    group.add(request)
                    unanswered += 1
                case .failure(let fault): tell(fault)
                }
            }
            // Where nothing was taken no reply comes that would take the weight away again.
            if unanswered > before { weigh(0, text.count) }
        } catch {
            tell(EnvelopeFault(id: nil, rejection: error, app: nil))
        }
        if isFull { feelPressure() }
    }

    // MARK: Both

    private func read(
        _ envelope: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer?, from caller: Caller
    ) throws(EnvelopeFault) -> PushRequest {
        let request = unsafe try reader.read(envelope, payload: payload, now: now)
        if let refusal = caller.refusal(for: request.message.app) {
            throw EnvelopeFault(id: request.message.id.text, rejection: refusal, app: request.message.app)
        }
        return request
    }

    private func allow(
        _ result: Result<PushRequest, EnvelopeFault>, _ caller: Caller
    ) -> Result<PushRequest, EnvelopeFault> {
        guard case .success(let request) = result, let refusal = caller.refusal(for: request.message.app) else {
            return result
        }
        return .failure(EnvelopeFault(id: request.message.id.text, rejection: refusal, app: request.message.app))
    }

    private func caller(of frames: RequestFrames) -> Caller {
        guard let name = frames.sender else { return .anyone }
        if let lastCaller, lastCaller.name == name { return lastCaller.caller }
        let caller = rights.client(named: name).map { Caller.client($0) } ?? .stranger(name)
        lastCaller = (name, caller)
        return caller
    }

    private func weigh(_ requests: Int, _ bytes: Int) {
        unanswered += requests
        unansweredBytes += bytes
        group.byteCount += bytes
    }

    func count(_ rejection: Rejection) {
        tally.rejected[rejection.reason, default: 0] += 1
    }

    /// What came over PULL and is not taken becomes an event, as long as there are not too many.
    func tell(_ fault: EnvelopeFault) {
        count(fault.rejection)
        let (skipped, isAllowed) = budget.take(now: loop.now)
        guard isAllowed else {
            tally.skippedEvents += 1
            return
        }
        var draft = EventDraft(.messageRejected, app: fault.app)
        draft.messageID = fault.id.flatMap { MessageID($0) }
        draft.reason = fault.rejection.reason.rawValue
        draft.add("detail", fault.rejection.detail)
        if skipped > 0 { draft.add("skipped", skipped) }
        notes.append(draft)
        askForFlush()
    }
}
