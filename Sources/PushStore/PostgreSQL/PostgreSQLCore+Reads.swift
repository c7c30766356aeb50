import PushLogic
import PushLoop
import PushModel
import PushPostgreSQL
import PushTime
import PushWire

/// Reading what a group needs before it is decided upon, and messages that are to be sent.
extension PostgreSQLCore {
    private static let timeout: Duration = .seconds(30)

    // MARK: Needs

    /// Reads rows into the memory of a part and then calls `done`. If that fails, the calls of the part are refused,
    /// because they cannot be decided upon.
    func read(_ needs: PartNeeds, for part: LedgerPart, done: @escaping () -> Void) {
        let section = PostgreSQLSection()
        let number = Int32(part.part)
        add(needs.keys, to: section, StoreStatements.findKeys, part: number)
        add(needs.waiting.keys, to: section, StoreStatements.findBodies, part: number)
        add(needs.scheduled, to: section, StoreStatements.findLater, part: number)
        add(needs.cancellations, to: section, StoreStatements.findCancels, part: number)
        section.call(StoreStatements.findReceipts) { parameters in
            parameters.append(textArray: needs.receipts.lazy.map(\.app.name))
            parameters.append(textArray: needs.receipts.lazy.map(\.id))
        }
        reads.send(section, timeout: Self.timeout) { [weak self] reply in
            guard let self else { return }
            switch reply {
            case .done(let results):
                do {
                    try take(results, of: needs, for: part)
                } catch {
                    refuse(part, "\(error)")
                }
                readsFailSince = nil
            case .refused(let failure): refuse(part, "\(failure)")
            case .unknown(let reason), .notSent(let reason):
                // The calls wait while the connection is opened again, but not for long.
                let since = readsFailSince ?? loop.now
                readsFailSince = since
                if loop.now - since > Self.patience { refuse(part, reason) }
                loop.schedule(after: .milliseconds(20), action: done)
                return
            }
            done()
        }
    }

    private func add(
        _ numbers: some Collection<UInt64>, to section: PostgreSQLSection, _ statement: PostgreSQLStatement, part: Int32
    ) {
        section.call(statement) { parameters in
            parameters.append(int4: part)
            parameters.append(int8Array: numbers.lazy.map { Int64(bitPattern: $0) })
        }
    }

    private func refuse(_ part: LedgerPart, _ reason: String) {
        part.refuseCalls(LedgerFault("cannot read \(storeName): \(reason)"))
    }

    private func take(_ results: [PostgreSQLResult], of needs: PartNeeds, for part: LedgerPart) throws {
        let lookup = part.lookup
        for row in results[0].rows {
            let number = UInt64(bitPattern: try row.value(0, as: Int64.self))
            guard let stored = StoredKeyRow(try row.value(1), number: number) else {
                throw StoreError(.damaged, "row \(number) of the table groups is damaged")
            }
            lookup.add(stored.row, wanted: needs.keys)
        }
        for seq in needs.keys where !lookup.isKnown(key: seq) { lookup.addMissing(key: seq) }
        for row in results[1].rows {
            let (stored, number) = try Self.bodies(row)
            for seq in needs.waiting[number] ?? [] {
                if let content = stored.message(seq) {
                    lookup.add(StoredMessage(time: stored.time, content: content), seq: seq)
                }
            }
        }
        for row in results[2].rows {
            let (seq, message) = try Self.later(row)
            if let message { lookup.add(message, seq: seq) }
        }
        for seqs in needs.waiting.values {
            for seq in seqs where !lookup.isKnown(message: seq) { lookup.addMissing(message: seq) }
        }
        for seq in needs.scheduled where !lookup.isKnown(message: seq) { lookup.addMissing(message: seq) }
        for number in needs.cancellations { lookup.add(nil, number: number) }
        for row in results[3].rows {
            let sent: Int64? = try row.optional(1)
            let cancelled: Int64? = try row.optional(2)
            let counts = sent.map {
                CancelCounts(sent: UInt64(clamping: $0), cancelled: UInt64(clamping: cancelled ?? 0))
            }
            lookup.add(StoredCancellation(counts: counts), number: UInt64(bitPattern: try row.value(0, as: Int64.self)))
        }
        for receipt in needs.receipts { lookup.add(receipt, isKnown: false) }
        for row in results[4].rows {
            guard let app = AppID(try row.value(0, as: String.self)) else { continue }
            lookup.add(PartLookup.ReceiptID(app: app, id: try row.value(1)), isKnown: true)
        }
    }

    /// Reads a row of bodies.
    private static func bodies(_ row: PostgreSQLRow) throws -> (MessageRow, number: UInt64) {
        let number = UInt64(bitPattern: try row.value(0, as: Int64.self))
        guard let (apps, heads) = StoredBodies.heads(try row.value(2)) else {
            throw StoreError(.damaged, "row \(number) of the table bodies is damaged")
        }
        let stored = MessageRow(
            first: number, count: heads.count / MessageRowBuilder.headSize,
            time: WallTime(milliseconds: try row.value(1)), apps: apps, heads: heads, bodies: try row.value(3))
        return (stored, number)
    }

    /// Reads a row of scheduled messages; the message is nil if it is damaged.
    private static func later(_ row: PostgreSQLRow) throws -> (seq: UInt64, message: StoredMessage?) {
        let seq = UInt64(bitPattern: try row.value(0, as: Int64.self))
        guard let app = AppID(try row.value(2, as: String.self)) else { return (seq, nil) }
        let time = WallTime(milliseconds: try row.value(1))
        let content = unsafe try row.withBytes(3) { bytes in
            var reader = unsafe ByteReader(bytes)
            return MessageRecord.read(&reader, app: app)
        }
        return (seq, content.map { StoredMessage(time: time, content: $0) })
    }

    // MARK: Messages

    /// The approximate size in memory at which an answer ends.
    private static let answerSize = 4 << 20
    /// The number of rows that one answer reads. A row of bodies has 2 MiB at most.
    private static let rowsAtOnce = 16

    func load(
        _ seqs: [UInt64], reply: @escaping @Sendable (Result<[AcceptedMessage], LedgerFault>) -> Void
    ) {
        var wanted = WantedMessages()
        for seq in seqs {
            guard wanted.rowCount < Self.rowsAtOnce else { break }
            guard let part = parts[EventNumber.part(of: seq)], !unreadable.contains(seq),
                !part.machine.cancels.contains(seq)
            else { continue }
            if part.machine.dedupe.pending.contains(seq), let row = part.machine.dedupe.pending.row(of: seq) {
                wanted.add(seq, row: row, part: part.part)
            } else if part.lookup.due.key(of: seq) != nil {
                wanted.add(seq, part: part.part)
            }
        }
        read(wanted) { [weak self] result in
            guard let self else { return reply(.failure(LedgerFault("the ledger is closed"))) }
            switch result {
            case .failure(let fault): reply(.failure(fault))
            case .success(let stored): reply(loaded(wanted.seqs, stored))
            }
        }
    }

    private func loaded(
        _ seqs: [UInt64], _ stored: [UInt64: StoredMessage]
    ) -> Result<[AcceptedMessage], LedgerFault> {
        var messages: [AcceptedMessage] = []
        var size = 0
        for seq in seqs where size < Self.answerSize {
            // It may have been completed, or its part lost, while the database answered.
            guard let part = parts[EventNumber.part(of: seq)], !part.machine.cancels.contains(seq),
                part.machine.dedupe.pending.contains(seq) || part.lookup.due.key(of: seq) != nil
            else { continue }
            guard let found = stored[seq] else {
                unreadable.insert(seq)
                return .failure(damaged(seq))
            }
            let message = part.machine.accepted(seq, found)
            size += message.size
            messages.append(message)
        }
        return .success(messages)
    }

    private func damaged(_ seq: UInt64) -> LedgerFault {
        LedgerFault(
            "\(storeName): message \(EventNumber.within(seq)) of part \(EventNumber.part(of: seq)) is damaged and is "
                + "not sent; restore the database from a backup, or send the message again with another id",
            damaged: DamagedMessage(seq: seq, app: nil, id: nil))
    }

    func due(
        at time: UnixSeconds, limit: Int, reply: @escaping @Sendable (Result<DueMessages, LedgerFault>) -> Void
    ) {
        var wanted = WantedMessages()
        var order: [UInt64] = []
        for part in parts.values where order.count < limit {
            while order.count < limit, let seq = part.lookup.due.next(at: time) {
                if unreadable.contains(seq) || part.machine.cancels.contains(seq) { continue }
                order.append(seq)
                wanted.add(seq, part: part.part)
            }
        }
        read(wanted) { [weak self] result in
            guard let self else { return reply(.failure(LedgerFault("the ledger is closed"))) }
            switch result {
            case .failure(let fault):
                putBack(order)
                reply(.failure(fault))
            case .success(let stored): reply(released(order, stored))
            }
        }
    }

    private func putBack(_ seqs: some Sequence<UInt64>) {
        for seq in seqs { parts[EventNumber.part(of: seq)]?.lookup.due.putBack(seq) }
    }

    private func released(
        _ order: [UInt64], _ stored: [UInt64: StoredMessage]
    ) -> Result<DueMessages, LedgerFault> {
        var messages: [AcceptedMessage] = []
        var size = 0
        for (index, seq) in order.enumerated() {
            if size >= Self.answerSize {
                putBack(order[index...])
                break
            }
            guard let part = parts[EventNumber.part(of: seq)], part.lookup.due.key(of: seq) != nil else { continue }
            guard let found = stored[seq] else {
                // The messages before it are returned first, and the next call reports this one.
                if messages.isEmpty { unreadable.insert(seq) }
                putBack(order[(messages.isEmpty ? index + 1 : index)...])
                if messages.isEmpty { return .failure(damaged(seq)) }
                break
            }
            let message = part.machine.accepted(seq, found)
            size += message.size
            messages.append(message)
        }
        messages.sort { ($0.message.notBefore?.value ?? 0, $0.seq) < ($1.message.notBefore?.value ?? 0, $1.seq) }
        var next: UnixSeconds?
        for part in parts.values {
            if let due = part.lookup.due.nextDue { next = min(next ?? due, due) }
        }
        return .success(DueMessages(messages: messages, next: next))
    }

    /// Reads messages of a part that are not done.
    func readMessages(
        _ seqs: [UInt64], of part: LedgerPart,
        done: @escaping (Result<[UInt64: StoredMessage], LedgerFault>) -> Void
    ) {
        var wanted = WantedMessages()
        for seq in seqs {
            if let row = part.machine.dedupe.pending.row(of: seq), part.machine.dedupe.pending.contains(seq) {
                wanted.add(seq, row: row, part: part.part)
            } else {
                wanted.add(seq, part: part.part)
            }
        }
        read(wanted, done: done)
    }

    private func read(
        _ wanted: WantedMessages, done: @escaping (Result<[UInt64: StoredMessage], LedgerFault>) -> Void
    ) {
        if wanted.seqs.isEmpty { return done(.success([:])) }
        let section = PostgreSQLSection()
        for (part, rows) in wanted.rows {
            add(rows.keys, to: section, StoreStatements.findBodies, part: Int32(part))
        }
        for (part, seqs) in wanted.scheduled { add(seqs, to: section, StoreStatements.findLater, part: Int32(part)) }
        reads.send(section, timeout: Self.timeout) { reply in
            switch reply {
            case .done(let results):
                do {
                    done(.success(try Self.messages(results, wanted)))
                } catch {
                    done(.failure(LedgerFault("\(error)")))
                }
            case .refused(let failure): done(.failure(LedgerFault("\(failure)")))
            case .unknown(let reason), .notSent(let reason): done(.failure(LedgerFault(reason)))
            }
        }
    }

    private static func messages(
        _ results: [PostgreSQLResult], _ wanted: WantedMessages
    ) throws -> [UInt64: StoredMessage] {
        var found: [UInt64: StoredMessage] = [:]
        for (index, result) in results.enumerated() {
            for row in result.rows {
                if index < wanted.rows.count {
                    let (stored, number) = try bodies(row)
                    for seq in wanted.rows[EventNumber.part(of: number)]?[number] ?? [] {
                        found[seq] = stored.message(seq).map { StoredMessage(time: stored.time, content: $0) }
                    }
                } else {
                    let (seq, message) = try later(row)
                    found[seq] = message
                }
            }
        }
        return found
    }
}

/// The messages that are to be read at once.
private struct WantedMessages {
    /// All of them, in the order of the caller.
    private(set) var seqs: [UInt64] = []
    /// The waiting ones, by part and by the first number of their row.
    private(set) var rows: [Int: [UInt64: [UInt64]]] = [:]
    /// The scheduled ones, by part.
    private(set) var scheduled: [Int: [UInt64]] = [:]
    private(set) var rowCount = 0

    mutating func add(_ seq: UInt64, row: UInt64, part: Int) {
        seqs.append(seq)
        if rows[part]?[row] == nil { rowCount += 1 }
        rows[part, default: [:]][row, default: []].append(seq)
    }

    mutating func add(_ seq: UInt64, part: Int) {
        seqs.append(seq)
        scheduled[part, default: []].append(seq)
    }
}
