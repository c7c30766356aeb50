import PushModel
import PushWire

/// Messages read back.
extension LedgerCore {
    func load(_ seqs: [UInt64]) -> Result<[AcceptedMessage], LedgerFault> {
        var messages: [AcceptedMessage] = []
        messages.reserveCapacity(seqs.count)
        do {
            for seq in seqs {
                if let message = try load(seq) { messages.append(message) }
            }
            return .success(messages)
        } catch {
            return .failure(LedgerFault("\(error)"))
        }
    }

    private func load(_ seq: UInt64) throws(StoreError) -> AcceptedMessage? {
        guard pending.contains(seq) else { return try scheduled(seq) }
        if !(messageRow?.covers(seq) ?? false) { messageRow = try row(of: seq) }
        guard let row = messageRow, row.covers(seq), let (app, read) = row.message(seq) else {
            throw StoreError(
                .damaged, "\(connection.path): message \(seq) cannot be read; restore the ledger from a backup")
        }
        return accepted(seq, row.time, app, read)
    }

    private func row(of seq: UInt64) throws(StoreError) -> MessageRow? {
        let find = statements.findMessages
        defer { find.reset() }
        find.bind(1, seq)
        guard try find.step() else { return nil }
        return MessageRow(
            first: find.word(0), count: Int(find.number(1)), time: find.number(2), apps: MessageRow.apps(find.text(3)),
            heads: find.blob(4), bodies: find.blob(5))
    }

    private func scheduled(_ seq: UInt64) throws(StoreError) -> AcceptedMessage? {
        if scheduledCount == 0 { return nil }
        let find = statements.findScheduled
        defer { find.reset() }
        find.bind(1, seq)
        guard try find.step() else { return nil }
        return scheduled(find, seq, time: 2, app: 6, body: 7)
    }

    private func scheduled(
        _ statement: SQLiteStatement, _ seq: UInt64, time: CInt, app: CInt, body: CInt
    ) -> AcceptedMessage? {
        guard let app = AppID(statement.text(app)) else { return nil }
        let read = unsafe statement.withBlob(body) { bytes in
            var reader = unsafe ByteReader(bytes)
            return MessageRecord.read(&reader, app: app)
        }
        return read.map { accepted(seq, statement.number(time), app, $0) }
    }

    private func accepted(_ seq: UInt64, _ time: Int64, _ app: AppID, _ read: MessageRecord.Read) -> AcceptedMessage {
        AcceptedMessage(
            seq: seq, acceptedAt: time, fingerprint: identities.message(app, read.message.id), message: read.message,
            audience: read.audience, needsClaim: read.needsClaim,
            counts: recovered.isEmpty ? OutcomeCounts() : recovered[seq]?.counts ?? OutcomeCounts())
    }

    // MARK: The schedule

    func due(at time: Int64, limit: Int) -> Result<DueMessages, LedgerFault> {
        do {
            var messages: [AcceptedMessage] = []
            var last = released
            try collect(at: time, limit, &messages, &last)
            released = last
            return .success(DueMessages(messages: messages, next: try nextDue()))
        } catch {
            return .failure(LedgerFault("\(error)"))
        }
    }

    private func collect(
        at time: Int64, _ limit: Int, _ messages: inout [AcceptedMessage], _ last: inout (due: Int64, seq: UInt64)
    ) throws(StoreError) {
        let due = statements.due
        defer { due.reset() }
        due.bind(1, last.due)
        due.bind(2, last.seq)
        due.bind(3, time)
        due.bind(4, Int64(limit))
        while try due.step() {
            let seq = due.word(0)
            last = (due.number(1), seq)
            if let message = scheduled(due, seq, time: 2, app: 3, body: 4) { messages.append(message) }
        }
    }

    func nextDue() throws(StoreError) -> Int64? {
        let next = statements.nextDue
        defer { next.reset() }
        next.bind(1, released.due)
        next.bind(2, released.seq)
        return try next.step() ? next.number(0) : nil
    }
}
