import PushLogic
import PushModel
import PushTime
import PushWire

/// Cancellation. The first group stores that the id is cancelled, and the witness stops its messages; a second group
/// stores the counts, completes the messages that were on disk only, and answers.
extension LedgerCore {
    /// Decides on a request to cancel, in the order of the requests of the group.
    func decide(
        _ request: CancelRequest, reply: @escaping @Sendable (Cancellation) -> Void, in decided: inout DedupeGroup,
        into group: inout CancelGroup
    ) throws(StoreError) {
        let fingerprint = identities.message(of: request.app, id: request.id).value
        let decision = try dedupe.cancel(fingerprint, in: &decided) { (seq) throws(StoreError) in
            scheduledCount > 0 ? try scheduledKey(of: seq) != nil : false
        }
        switch decision {
        case .unknown: group.answers.append((reply, .unknown))
        case .tooLate: group.answers.append((reply, .tooLate))
        case .known(let number): try answer(reply, about: number, into: &group)
        case .new(let number, let open):
            group.new.append(
                CancelGroup.New(
                    number: number, open: open,
                    cancel: LedgerCancels.Open(
                        request: request, fingerprint: fingerprint, parts: [], replies: [reply])))
        }
    }

    /// Answers a repeated request with the counts of the first one, or lets it wait for them.
    private func answer(
        _ reply: @escaping @Sendable (Cancellation) -> Void, about number: UInt64, into group: inout CancelGroup
    ) throws(StoreError) {
        if let index = group.new.firstIndex(where: { $0.number == number }) {
            group.new[index].cancel.replies.append(reply)
            return
        }
        if cancels.open[number] != nil { return group.waiting.append((reply, number)) }
        let find = statements.findCancel
        defer { find.reset() }
        find.bind(1, number)
        guard try find.step(), !find.isNull(0) else { return group.answers.append((reply, .tooLate)) }
        group.answers.append((reply, .cancelled(CancelCounts(sent: find.word(0), cancelled: find.word(1)))))
    }

    /// Stores the new cancellations of a group, after its accepted messages.
    func store(
        _ group: inout CancelGroup, first: UInt64, accepted: [AcceptedMessage], at now: WallTime
    ) throws(StoreError) {
        for index in group.new.indices {
            let new = group.new[index]
            var words: [UInt64] = []
            for seq in new.open {
                let place = Int(clamping: seq &- first)
                let message = seq >= first && place < accepted.count ? accepted[place] : try stored(seq)
                group.new[index].cancel.parts.append(part(seq, message, of: new.cancel.request, at: now))
                StoredCancelPart(seq: seq).append(to: &words)
            }
            let add = statements.addCancel
            add.bind(1, new.number)
            add.bind(2, now)
            add.bind(3, new.cancel.fingerprint)
            add.bind(4, new.cancel.request.app.name)
            add.bind(5, new.cancel.request.id.text)
            add.bind(6, new.cancel.request.client ?? "")
            add.bind(7, words)
            try add.run()
        }
    }

    /// Returns a waiting message; nil if it is damaged, which does not keep it from being cancelled.
    private func stored(_ seq: UInt64) throws(StoreError) -> AcceptedMessage? {
        do {
            return try load(seq)
        } catch {
            guard error.code == .damaged else { throw error }
            return nil
        }
    }

    private func part(
        _ seq: UInt64, _ accepted: AcceptedMessage?, of request: CancelRequest, at now: WallTime
    ) -> LedgerCancels.Part {
        let message = Message(
            id: request.id, app: request.app, payload: [], traceparent: accepted?.message.traceparent)
        let isAhead = accepted?.message.notBefore.map { $0 > now.unixSeconds } ?? false
        return LedgerCancels.Part(
            seq: seq, message: message,
            lane: isAhead ? nil : accepted.map { Lane(of: $0.message, to: $0.audience) },
            named: accepted.flatMap { differentNames(of: $0.audience, app: request.app) },
            begin: accepted?.begin)
    }

    /// Returns the number of different devices that an audience names; nil if the registry determines them.
    private func differentNames(of audience: Audience, app: AppID) -> Int? {
        var seen: Set<DeviceID>
        switch audience {
        case .tokens(let tokens):
            if tokens.count == 1 { return 1 }
            seen = Set(minimumCapacity: tokens.count)
            for token in tokens { seen.insert(identities.device(of: app, token: token)) }
        case .devices(let devices): seen = Set(devices)
        case .users, .tags, .everyone: return nil
        }
        return seen.count
    }

    private func isOpen(_ seq: UInt64) throws(StoreError) -> Bool {
        if dedupe.pending.contains(seq) { return true }
        return scheduledCount > 0 ? try scheduledKey(of: seq) != nil : false
    }

    // MARK: Counts

    /// Stores the counts of a cancellation whose messages are stopped, and completes those that were on disk only.
    /// Returns the number of events that it wrote.
    func finish(
        _ end: CancelEnd, in decided: inout DedupeGroup, into group: inout CancelGroup, at now: WallTime
    ) throws(StoreError) -> Int {
        guard let open = cancels.open[end.number] else { return 0 }
        var counts = CancelCounts()
        var words: [UInt64] = []
        var ended: [CompletedMessage] = []
        var isStopped = false
        for part in end.parts {
            var stored = StoredCancelPart(seq: part.seq)
            switch part.fate {
            case .stopped(let sent, let underWay, let cancelled, let endedCount):
                isStopped = true
                counts.sent += sent + underWay
                counts.cancelled += cancelled
                (stored.underWay, stored.ended, stored.cancelled) = (underWay, endedCount, cancelled)
            case .ending: break
            case .absent:
                guard let known = open.part(part.seq) else { continue }
                if try isOpen(part.seq) {
                    isStopped = true
                    var outcomes = dedupe.recoveredCounts(of: part.seq)
                    let named = UInt64(max(0, known.named ?? 0))
                    outcomes.cancelled = UInt32(clamping: named - min(named, outcomes.ended))
                    counts.sent += UInt64(outcomes.sent)
                    counts.cancelled += UInt64(outcomes.cancelled)
                    stored.cancelled = UInt64(outcomes.cancelled)
                    ended.append(CompletedMessage(seq: part.seq, message: known.message, counts: outcomes))
                } else {
                    // The router completed the message before the order came.
                    cancels.completing.append(part.seq)
                    counts.sent += UInt64(known.completed?.sent ?? 0)
                }
            }
            stored.append(to: &words)
        }
        group.finished.append(CancelGroup.Finished(number: end.number, counts: isStopped ? counts : nil))
        guard isStopped else {
            statements.removeCancel.bind(1, end.number)
            try statements.removeCancel.run()
            return 0
        }
        let set = statements.setCancel
        set.bind(1, counts.sent)
        set.bind(2, counts.cancelled)
        set.bind(3, words)
        set.bind(4, end.number)
        try set.run()
        writer.add(draft(of: open.request, counts), at: now)
        for message in ended {
            writer.add(message, at: now)
            try complete(message, in: &decided)
        }
        return 1 + ended.count
    }

    private func draft(of request: CancelRequest, _ counts: CancelCounts) -> EventDraft {
        var draft = EventDraft(.messageCancelled, app: request.app)
        draft.messageID = request.id
        draft.add("sent", number: Int64(clamping: counts.sent))
        draft.add("cancelled", number: Int64(clamping: counts.cancelled))
        if let client = request.client, !client.isEmpty { draft.add("by", text: client) }
        return draft
    }

    // MARK: After the transaction

    /// Answers what the group has decided, and returns the orders for the witness.
    func done(_ group: CancelGroup) -> [CancelOrder] {
        cancels.commit()
        for new in group.new {
            cancels.open[new.number] = new.cancel
            for seq in new.open { cancels.numbers[seq] = new.number }
        }
        for (reply, number) in group.waiting { cancels.open[number]?.replies.append(reply) }
        for finished in group.finished {
            guard let open = cancels.open.removeValue(forKey: finished.number) else { continue }
            if finished.counts == nil {
                dedupe.forgetCancelled(open.fingerprint)
                for part in open.parts { cancels.numbers[part.seq] = nil }
            }
            for reply in open.replies { reply(finished.counts.map { .cancelled($0) } ?? .tooLate) }
        }
        for (reply, answer) in group.answers { reply(answer) }
        return group.new.map { new in
            CancelOrder(
                number: new.number,
                parts: new.cancel.parts.map {
                    CancelOrder.Part(seq: $0.seq, lane: $0.lane, named: $0.named, begin: $0.begin)
                })
        }
    }

    /// Answers the requests that still wait, because the ledger closes.
    func refuseCancels() {
        for open in cancels.open.values {
            for reply in open.replies { reply(.failed("the ledger is closed")) }
        }
        cancels.open = [:]
    }

    // MARK: Start

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
            dedupe.restoreCancelled(fingerprint, number: number)
            let parts = unsafe rows.withBlob(6) { bytes in
                (0..<(bytes.count / StoredCancelPart.size)).map { unsafe StoredCancelPart(bytes, at: $0) }
            }
            guard let app = AppID(rows.text(2)), let id = MessageID(accepted: rows.text(3)) else { continue }
            let request = CancelRequest(id, of: app, by: rows.text(4))
            if rows.isNull(5) {
                var open = LedgerCancels.Open(request: request, fingerprint: fingerprint, parts: [], replies: [])
                for part in parts {
                    open.parts.append(self.part(part.seq, try stored(part.seq), of: request, at: clock()))
                }
                cancels.open[number] = open
                left.append(
                    ([], [], [CancelEnd(number: number, parts: parts.map { .init(seq: $0.seq, fate: .absent) })]))
            } else {
                var completed: [CompletedMessage] = []
                for part in parts where try isOpen(part.seq) {
                    let known = self.part(part.seq, try stored(part.seq), of: request, at: clock())
                    completed.append(
                        CompletedMessage(
                            seq: part.seq, message: known.message,
                            counts: part.countsAfterCrash(dedupe.recoveredCounts(of: part.seq))))
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

    // MARK: Trimming

    /// Removes some cancellations that are older than the window. Returns whether there are more.
    func trimCancels(_ limit: Int, at age: WallTime) throws(StoreError) -> Bool {
        if dedupe.cancelledCount == 0 { return false }
        var removed: [UInt64] = []
        try statements.begin.run()
        while removed.count < limit {
            let row = statements.oldestCancel
            guard try row.step(), dedupe.isBeyondWindow(row.time(1), at: age), cancels.open[row.word(0)] == nil else {
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
        for fingerprint in removed { dedupe.forgetCancelled(fingerprint) }
        return removed.count == limit
    }
}
