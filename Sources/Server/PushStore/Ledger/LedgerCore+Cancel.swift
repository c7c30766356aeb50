import PushLogic
import PushModel
import PushTime
import PushWire

/// Cancelled ids on disk: what a start finds of them, and their removal.
extension LedgerCore {
    /// The number of cancellations that are finished in one transaction at the start.
    private static let finishedAtOnce = 1024

    /// Restores the cancelled ids, and ends what is left of their messages after a crash. Nothing of them is sent.
    func readCancels() throws(StoreError) {
        let rows = try connection.prepare(
            "SELECT number, fingerprint, app, id, client, sent, parts FROM cancels ORDER BY number")
        var left: [([DeliveryRecord], [CompletedMessage], [CancelEnd])] = []
        while try rows.step() {
            let (number, fingerprint) = (rows.word(0), rows.word(1))
            guard number <= FingerprintTable.maximumValue else { continue }
            machine.dedupe.restoreCancelled(fingerprint, number: number)
            let parts = unsafe rows.withBlob(6) { bytes in
                (0..<(bytes.count / StoredCancelPart.size)).map { unsafe StoredCancelPart(bytes, at: $0) }
            }
            guard let app = AppID(rows.text(2)), let id = MessageID(accepted: rows.text(3)) else { continue }
            let request = CancelRequest(id, of: app, by: rows.text(4))
            if rows.isNull(5) {
                var open = LedgerCancels.Open(request: request, fingerprint: fingerprint, parts: [], replies: [])
                open.sentBefore = machine.dedupe.sentTurns.count(of: fingerprint)
                for part in parts {
                    open.parts.append(machine.part(part.seq, try message(part.seq), of: request, at: clock()))
                }
                machine.cancels.open[number] = open
                left.append(
                    ([], [], [CancelEnd(number: number, parts: parts.map { .init(seq: $0.seq, fate: .absent) })]))
            } else {
                var completed: [CompletedMessage] = []
                for part in parts where try isOpen(part.seq) {
                    let known = machine.part(part.seq, try message(part.seq), of: request, at: clock())
                    completed.append(
                        CompletedMessage(
                            seq: part.seq, message: known.message,
                            counts: part.countsAfterCrash(machine.dedupe.recoveredCounts(of: part.seq))))
                }
                if !completed.isEmpty { left.append(([], completed, [])) }
            }
        }
        for start in stride(from: 0, to: left.count, by: Self.finishedAtOnce) {
            var group = LedgerGroup()
            group.outcomes = Array(left[start..<min(start + Self.finishedAtOnce, left.count)])
            write(group)
            if let fault { throw StoreError(.cannotWrite, fault.description) }
        }
    }

    private func isOpen(_ seq: UInt64) throws(StoreError) -> Bool {
        if machine.dedupe.pending.contains(seq) { return true }
        return machine.scheduledCount > 0 ? try rows.scheduledKey(of: seq) != nil : false
    }

    /// Returns a message that is not done; nil if it is damaged.
    private func message(_ seq: UInt64) throws(StoreError) -> AcceptedMessage? {
        let isScheduled = !machine.dedupe.pending.contains(seq)
        if isScheduled, machine.scheduledCount == 0 { return nil }
        return try rows.message(seq, isScheduled: isScheduled).map { machine.accepted(seq, $0) }
    }

    // MARK: Trimming

    /// Removes some cancellations that are older than the window. Returns whether there are more.
    func trimCancels(_ limit: Int, at age: WallTime) throws(StoreError) -> Bool {
        if machine.dedupe.cancelledCount == 0 { return false }
        var removed: [UInt64] = []
        try statements.begin.run()
        while removed.count < limit {
            let row = statements.oldestCancel
            guard try row.step(), machine.dedupe.isBeyondWindow(row.time(1), at: age),
                machine.cancels.open[row.word(0)] == nil
            else {
                row.reset()
                break
            }
            let (number, fingerprint) = (row.word(0), row.word(2))
            row.reset()
            statements.removeCancel.bind(1, number)
            try statements.removeCancel.run()
            removed.append(fingerprint)
        }
        try statements.commit.run()
        for fingerprint in removed { machine.dedupe.forgetCancelled(fingerprint) }
        return removed.count == limit
    }
}
