import PushModel
import PushTransport
import PushWire

/// Requests that reach intake by a call on its loop, such as those over HTTP. They take the same way as those over
/// ZeroMQ: the same parser, limits, groups of the ledger and acks.
extension Intake {
    /// Takes one envelope with its payload inline. `reply` is called once on the loop, perhaps at once.
    package func push(_ envelope: [UInt8], from sender: DirectSender, reply: @escaping DirectReply) {
        let caller = Caller.direct(sender)
        let before = beginCall()
        defer { endCall(since: before, of: caller) }
        tally.bytes += UInt64(envelope.count)
        unsafe envelope.withUnsafeBytes { bytes in
            guard !isClosedToCalls else {
                tally.busy += 1
                let wait = retryAfter.wholeMilliseconds
                unsafe AckText.busy(id: EnvelopeSkim.id(bytes)?.text, retryAfterMS: wait, to: &answer)
                return send(.busy(retryAfterMilliseconds: wait), to: reply)
            }
            do throws(EnvelopeFault) {
                let request = unsafe try read(bytes, nil, from: caller)
                if let quota = admit(request, canWait: true) {
                    writeBusy(request.message.id, retryAfter: quota.quota.retryAfter, to: &answer)
                    return send(.busy(retryAfterMilliseconds: quota.quota.retryAfter.wholeMilliseconds), to: reply)
                }
                group.add(request, reply: reply)
                addLoad(requests: request.count, bytes: bytes.count)
            } catch {
                AckText.rejected(id: error.id, error.rejection, to: &answer)
                reportRejection(error, of: caller.name)
                send(.rejected(error.rejection.reason), to: reply)
            }
        }
    }

    /// Takes up to 10,000 envelopes, one on each line. `reply` is called once on the loop, with an ack on each line in
    /// the same order, or with one ack if the lines as a whole are invalid.
    package func pushLines(_ lines: [UInt8], from sender: DirectSender, reply: @escaping DirectReply) {
        let caller = Caller.direct(sender)
        let before = beginCall()
        defer { endCall(since: before, of: caller) }
        tally.bytes += UInt64(lines.count)
        unsafe lines.withUnsafeBytes { bytes in
            guard !isClosedToCalls else {
                unsafe refuseLines(bytes, of: caller.name)
                return send(.lines, to: reply)
            }
            do throws(Rejection) {
                let read = unsafe try readLines(bytes, of: caller)
                if read.requestCount == 0 {
                    read.write(to: &answer) { _, _ in }
                    send(.lines, to: reply)
                } else {
                    group.add(read, reply: reply, client: caller.name)
                    addLoad(requests: 0, bytes: bytes.count)
                }
            } catch {
                AckText.rejected(id: nil, error, to: &answer)
                reportRejection(EnvelopeFault(id: nil, rejection: error, app: nil), of: caller.name)
                send(.rejected(error.reason), to: reply)
            }
        }
    }

    var isClosedToCalls: Bool { isFull || !phase.isOpen }

    func beginCall() -> IntakeCounts.Totals {
        beginRun()
        tally.messages += 1
        return tally.totals
    }

    /// The requests of a tick are one run, which ends when they are handed to the ledger.
    func endCall(since before: IntakeCounts.Totals, of caller: Caller) {
        tally.attribute(since: before, to: caller.name)
        askForFlush()
    }
}
