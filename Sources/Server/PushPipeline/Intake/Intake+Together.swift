import PushModel
import PushTransport
import PushWire

/// Requests that reach intake by a call, of which either all are handed to the ledger or none.
extension Intake {
    /// Takes up to 10,000 envelopes, one on each line, all of which must be valid and have room. `reply` is called once
    /// on the loop: with an ack on each line in the same order, or with the one ack of the line that is the reason why
    /// none is taken.
    package func pushTogether(_ lines: [UInt8], from sender: DirectSender, reply: @escaping DirectReply) {
        let caller = Caller.direct(sender)
        let before = beginCall()
        defer { endCall(since: before, of: caller) }
        tally.bytes += UInt64(lines.count)
        guard !isClosedToCalls else {
            tally.busy += 1
            return sayBusyOnce(about: nil, for: retryAfter.wholeMilliseconds, to: reply)
        }
        do throws(EnvelopeFault) {
            let requests = try readAll(lines, of: caller)
            for (index, request) in requests.enumerated() {
                guard let quota = admit(request, canWait: true) else { continue }
                for admitted in requests[..<index] { release(admitted) }
                tally.busy += 1
                return sayBusyOnce(about: request.message.id, for: quota.quota.retryAfter.wholeMilliseconds, to: reply)
            }
            var read = BatchLines()
            for request in requests {
                group.addLine(request)
                read.asked()
            }
            group.add(read, reply: reply, client: caller.name)
            addLoad(requests: requests.reduce(0) { $0 + $1.count }, bytes: lines.count)
        } catch {
            AckText.rejected(id: error.id, error.rejection, to: &answer)
            reportRejection(error, of: caller.name)
            send(.rejected(error.rejection.reason), to: reply)
        }
    }

    private func readAll(_ lines: [UInt8], of caller: Caller) throws(EnvelopeFault) -> [PushRequest] {
        var requests: [PushRequest] = []
        var first: EnvelopeFault?
        do throws(Rejection) {
            // `withUnsafeBytes` cannot throw a typed error.
            let read = unsafe lines.withUnsafeBytes { bytes in
                Result { () throws(Rejection) in
                    unsafe try reader.readBatch(bytes, now: run.now) { result in
                        switch allow(result, caller) {
                        case .success(let request): requests.append(request)
                        case .failure(let fault): first = first ?? fault
                        }
                    }
                }
            }
            try read.get()
        } catch {
            throw EnvelopeFault(id: nil, rejection: error, app: nil)
        }
        if let first { throw first }
        return requests
    }

    private func release(_ request: PushRequest) {
        quotas.release(request.message)
        for other in request.fellows?.others ?? [] { quotas.release(other.message) }
    }

    private func sayBusyOnce(about id: MessageID?, for wait: Int64, to reply: DirectReply) {
        AckText.busy(id: id?.text, retryAfterMS: wait, to: &answer)
        send(.busy(retryAfterMilliseconds: wait), to: reply)
    }
}
