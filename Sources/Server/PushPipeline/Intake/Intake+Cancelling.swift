import PushLoop
import PushModel
import PushTime
import PushWire

/// Requests to cancel a message, `["cancel/1", {"id": …, "app": …}]`. They count against the same bounds as pushes.
extension Intake {
    func cancel(_ request: UnsafeRawBufferPointer, in frames: RequestFrames) {
        let size = request.count + frames.route.byteCount
        tally.bytes += UInt64(size)
        if isFull {
            tally.busy += 1
            unsafe AckText.busy(
                id: EnvelopeSkim.id(request)?.text, retryAfterMS: retryAfter.wholeMilliseconds, to: &answer)
            return unsafe say("ack/1", to: frames.identity, via: frames.route)
        }
        let envelope: CancelEnvelope
        do throws(EnvelopeFault) {
            envelope = unsafe try CancelEnvelope.read([UInt8](request), apps: reader.apps)
            let refusal = envelope.family.map { frames.caller.refusal(for: $0) }
            if let refusal = refusal ?? frames.caller.refusal(for: envelope.app) {
                throw EnvelopeFault(id: envelope.id.text, rejection: refusal, app: envelope.app)
            }
        } catch {
            return refuseCancel(error, to: unsafe [UInt8](frames.identity), via: frames.route)
        }
        // A message that was sent before its cancellation is handed to the ledger before it.
        handInGroup()
        unanswered.count += 1
        unanswered.bytes += size
        let identity = unsafe [UInt8](frames.identity)
        let (route, client) = (frames.route, frames.caller.name)
        ledger.cancel(envelope.apps.map { CancelRequest(envelope.id, of: $0, by: client) }) { results in
            // After `stop` the loop may have ended, and nobody needs the reply.
            self.loop.executeUnlessStopped {
                self.assumeIsolated { $0.answered(envelope, results, size: size, to: identity, via: route) }
            }
        }
    }

    private func answered(
        _ request: CancelEnvelope, _ results: [Cancellation], size: Int, to identity: [UInt8], via route: AnswerRoute
    ) {
        unanswered.count -= 1
        unanswered.bytes -= size
        let apps = request.family.map { AckText.apps(of: $0, statuses: results.map(\.word)) } ?? []
        let cancellation = Cancellation(of: results)
        tally.count(cancellation)
        switch cancellation {
        case .cancelled(let counts):
            AckText.cancelled(id: request.id, counts, apps: apps, to: &answer)
            send(to: identity, via: route)
        case .tooLate:
            AckText.tooLate(id: request.id, apps: apps, to: &answer)
            send(to: identity, via: route)
        case .unknown:
            let rejection = Rejection(
                .unknownMessage,
                detail:
                    "no message of \(request.app) with this id is remembered: it was never accepted, or it is older "
                    + "than dedupe.window")
            AckText.rejected(id: request.id.text, rejection, to: &answer)
            send(to: identity, via: route)
        case .failed:
            AckText.busy(
                id: request.id.text, retryAfterMS: Self.retryAfterFault.wholeMilliseconds, to: &answer)
            send(to: identity, via: route)
        }
        feelPressure()
        endIfIdle()
    }

    /// Answers `rejected`. There is no `message.rejected` event, because the message itself is not rejected.
    private func refuseCancel(_ fault: EnvelopeFault, to identity: [UInt8], via route: AnswerRoute) {
        tally.count(fault.rejection.reason)
        AckText.rejected(id: fault.id, fault.rejection, to: &answer)
        send(to: identity, via: route)
    }

    private func send(to identity: [UInt8], via route: AnswerRoute) {
        unsafe identity.withUnsafeBytes { unsafe say("ack/1", to: $0, via: route) }
    }
}
