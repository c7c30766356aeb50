import PushLogic
import PushModel
import PushPostgreSQL
import PushTime

/// The cancellations that a part has when it is taken over. What is left of their messages ends: nothing of them is
/// sent.
extension PostgreSQLCore {
    /// Ends what is left of the cancellations of a part that was read. Calls `done` with a fault if their messages cannot
    /// be read.
    func endCancels(of loaded: PartLoader.Loaded, done: @escaping (LedgerFault?) -> Void) {
        let part = loaded.part
        var seqs: [UInt64] = []
        for cancel in loaded.cancels { seqs += cancel.parts.map(\.seq).filter { isOpen($0, in: part) } }
        guard !seqs.isEmpty || loaded.cancels.contains(where: \.isOpen) else { return done(nil) }
        readMessages(seqs, of: part) { [weak self] result in
            guard let self else { return }
            switch result {
            case .failure(let fault): done(fault)
            case .success(let messages):
                for cancel in loaded.cancels { end(cancel, of: part, messages) }
                let ended = Set(seqs)
                for seq in seqs { part.lookup.due.withhold(seq) }
                part.backlog.nextDue = part.lookup.due.nextDue
                part.backlog.lanes = part.backlog.lanes.map { ($0.lane, $0.seqs.filter { !ended.contains($0) }) }
                done(nil)
            }
        }
    }

    private func isOpen(_ seq: UInt64, in part: LedgerPart) -> Bool {
        part.machine.dedupe.pending.contains(seq) || part.lookup.due.key(of: seq) != nil
    }

    /// Hands in the end of what is left of a cancellation.
    private func end(_ cancel: PartLoader.StoredCancel, of part: LedgerPart, _ messages: [UInt64: StoredMessage]) {
        let now = settings.clock()
        func known(_ seq: UInt64) -> LedgerCancels.Part {
            part.machine.part(
                seq, messages[seq].map { part.machine.accepted(seq, $0) }, of: cancel.request, at: now)
        }
        let open = cancel.parts.filter { isOpen($0.seq, in: part) }
        for left in open { part.machine.cancels.numbers[left.seq] = cancel.number }
        if cancel.isOpen {
            part.machine.cancels.open[cancel.number] = LedgerCancels.Open(
                request: cancel.request, fingerprint: cancel.fingerprint, parts: cancel.parts.map { known($0.seq) },
                replies: [], sentBefore: part.machine.dedupe.sentTurns.count(of: cancel.fingerprint))
            let parts = cancel.parts.map { CancelEnd.Part(seq: $0.seq, fate: .absent) }
            part.waiting.outcomes.append(([], [], [CancelEnd(number: cancel.number, parts: parts)]))
        } else if !open.isEmpty {
            let completed = open.map { left in
                CompletedMessage(
                    seq: left.seq, message: known(left.seq).message,
                    counts: left.countsAfterCrash(part.machine.dedupe.recoveredCounts(of: left.seq)))
            }
            part.waiting.outcomes.append(([], completed, []))
        }
    }
}
