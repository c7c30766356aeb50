import PushLogic
import PushLoop
import PushModel
import PushPostgreSQL
import PushTime
import PushWire

/// Reading messages that are to be sent.
extension PostgreSQLCore {
    private static let timeout: Duration = .seconds(30)

    /// The approximate size in memory at which an answer ends.
    private static let answerSize = 4 << 20
    /// The bytes of scheduled messages after which a reading ends.
    static let readSize: Int64 = 4 << 20
    /// The number of rows that one answer reads. A row of bodies has 2 MiB at most.
    private static let rowsAtOnce = 16

    func load(
        _ seqs: [UInt64], reply: @escaping @Sendable (Result<[AcceptedMessage], LedgerFault>) -> Void
    ) {
        var wanted = WantedMessages()
        var behind = seqs[seqs.endIndex...]
        for (index, seq) in seqs.enumerated() {
            if wanted.rowCount >= Self.rowsAtOnce {
                behind = seqs[index...]
                break
            }
            guard let part = parts[EventNumber.part(of: seq)], part.isOpen, !unreadable.contains(seq),
                !part.machine.cancels.contains(seq)
            else { continue }
            if part.machine.dedupe.pending.contains(seq), let row = part.machine.dedupe.pending.row(of: seq) {
                wanted.add(seq, row: row, part: part.part)
            } else if part.lookup.due.key(of: seq) != nil {
                wanted.add(scheduled: seq)
            }
        }
        let epochs = epochs
        read(wanted, owned: epochs) { [weak self] result in
            guard let self else { return reply(.failure(LedgerFault("the ledger is closed"))) }
            switch result {
            case .failure(let fault): reply(.failure(fault))
            case .success(let stored):
                let (result, unread) = loaded(wanted.seqs, stored, epochs)
                // All that was read has ended meanwhile. An empty answer would say the same of what was not read.
                if case .success(let messages) = result, messages.isEmpty, unread.count + behind.count > 0 {
                    return load(unread + behind, reply: reply)
                }
                answer(result, to: reply)
            }
        }
    }

    /// The epochs of the parts that the witness carries out. A part that was dropped, and perhaps loaded again, while the
    /// database answered has another one or none.
    private var epochs: [Int: Int64] { parts.filter { $0.value.isOpen }.mapValues(\.epoch) }

    private func part(of seq: UInt64, _ epochs: [Int: Int64]) -> LedgerPart? {
        let number = EventNumber.part(of: seq)
        guard let part = parts[number], part.isOpen, part.epoch == epochs[number] else { return nil }
        return part
    }

    /// Returns the messages that were read, up to the size of an answer, and the numbers from there on.
    private func loaded(
        _ seqs: [UInt64], _ stored: ReadMessages, _ epochs: [Int: Int64]
    ) -> (Result<[AcceptedMessage], LedgerFault>, unread: [UInt64]) {
        var messages: [AcceptedMessage] = []
        var size = 0
        for (index, seq) in seqs.enumerated() {
            // It may have been completed, or its part lost, while the database answered.
            guard let part = part(of: seq, epochs), !part.machine.cancels.contains(seq),
                part.machine.dedupe.pending.contains(seq) || part.lookup.due.key(of: seq) != nil
            else { continue }
            if size >= Self.answerSize || stored.unread.contains(seq) {
                return (.success(messages), Array(seqs[index...]))
            }
            guard let found = stored.found[seq] else {
                unreadable.insert(seq)
                return (.failure(damaged(seq)), [])
            }
            let message = part.machine.accepted(seq, found)
            size += message.size
            messages.append(message)
        }
        return (.success(messages), [])
    }

    private func damaged(_ seq: UInt64) -> LedgerFault {
        LedgerFault(
            "\(storeName): message \(EventNumber.within(seq)) of part \(EventNumber.part(of: seq)) is damaged and is "
                + "not sent; restore the database from a backup, or send the message again with another id",
            damaged: DamagedMessage(seq: seq, app: nil, id: nil))
    }

    /// Answers a call. A damaged message is named by what the event of its acceptance, which has the same number, says.
    private func answer<Value>(
        _ result: Result<Value, LedgerFault>, to reply: @escaping @Sendable (Result<Value, LedgerFault>) -> Void
    ) {
        guard case .failure(let fault) = result, let seq = fault.damaged?.seq else { return reply(result) }
        let section = PostgreSQLSection()
        section.call(StoreStatements.logOf) { parameters in
            parameters.append(int4: Int32(EventNumber.part(of: seq)))
            parameters.append(int8: Int64(bitPattern: seq))
        }
        reads.send(section, timeout: Self.timeout) { answer in
            var damaged = DamagedMessage(seq: seq, app: nil, id: nil)
            if case .done(let results) = answer, let row = results[0].rows.first(where: { _ in true }) {
                damaged = (try? Self.acceptance(of: seq, in: row)) ?? damaged
            }
            reply(.failure(LedgerFault(fault.description, damaged: damaged)))
        }
    }

    private static func acceptance(of seq: UInt64, in row: PostgreSQLRow) throws -> DamagedMessage {
        let number = UInt64(bitPattern: try row.value(0, as: Int64.self))
        let time = WallTime(milliseconds: try row.value(1))
        var (app, id): (AppID?, MessageID?) = (nil, nil)
        for segment in StoredLogRow.decode(try row.value(2), number: number, time: time) ?? [] where segment.last >= seq
        {
            try segment.entries(since: seq - 1) { entry in
                guard entry.event.seq == seq, entry.event.kind == .messageAccepted else { return false }
                (app, id) = (entry.app, entry.messageID.flatMap { MessageID(accepted: $0) })
                return false
            }
            break
        }
        return DamagedMessage(seq: seq, app: app, id: id)
    }

    func due(
        at time: UnixSeconds, limit: Int, reply: @escaping @Sendable (Result<DueMessages, LedgerFault>) -> Void
    ) {
        var wanted = WantedMessages()
        var order: [UInt64] = []
        for part in parts.values where part.isOpen && order.count < limit {
            while order.count < limit, let seq = part.lookup.due.next(at: time) {
                if unreadable.contains(seq) || part.machine.cancels.contains(seq) { continue }
                order.append(seq)
                wanted.add(scheduled: seq)
            }
        }
        let epochs = epochs
        read(wanted, owned: epochs) { [weak self] result in
            guard let self else { return reply(.failure(LedgerFault("the ledger is closed"))) }
            switch result {
            case .failure(let fault):
                putBack(order, epochs)
                reply(.failure(fault))
            case .success(let stored): answer(released(order, stored, epochs), to: reply)
            }
        }
    }

    private func putBack(_ seqs: some Sequence<UInt64>, _ epochs: [Int: Int64]) {
        for seq in seqs { part(of: seq, epochs)?.lookup.due.putBack(seq) }
    }

    private func released(
        _ order: [UInt64], _ stored: ReadMessages, _ epochs: [Int: Int64]
    ) -> Result<DueMessages, LedgerFault> {
        var messages: [AcceptedMessage] = []
        var size = 0
        for (index, seq) in order.enumerated() {
            if size >= Self.answerSize || stored.unread.contains(seq) {
                putBack(order[index...], epochs)
                break
            }
            // It may have been cancelled, or its part lost, while the database answered.
            guard let part = part(of: seq, epochs), part.lookup.due.key(of: seq) != nil,
                !part.machine.cancels.contains(seq)
            else { continue }
            guard let found = stored.found[seq] else {
                // The messages before it are returned first, and the next call reports this one.
                if messages.isEmpty { unreadable.insert(seq) }
                putBack(order[(messages.isEmpty ? index + 1 : index)...], epochs)
                if messages.isEmpty { return .failure(damaged(seq)) }
                break
            }
            let message = part.machine.accepted(seq, found)
            size += message.size
            messages.append(message)
        }
        messages.sort { ($0.message.notBefore?.value ?? 0, $0.seq) < ($1.message.notBefore?.value ?? 0, $1.seq) }
        var next: UnixSeconds?
        for part in parts.values where part.isOpen {
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
                wanted.add(scheduled: seq)
            }
        }
        readAll(wanted, owned: [part.part: part.epoch], [:], done: done)
    }

    private func readAll(
        _ wanted: WantedMessages, owned: [Int: Int64], _ earlier: [UInt64: StoredMessage],
        done: @escaping (Result<[UInt64: StoredMessage], LedgerFault>) -> Void
    ) {
        read(wanted, owned: owned) { [weak self] result in
            switch result {
            case .failure(let fault): done(.failure(fault))
            case .success(let read):
                let found = earlier.merging(read.found) { $1 }
                guard let self, !read.unread.isEmpty else { return done(.success(found)) }
                readAll(wanted.only(read.unread), owned: owned, found, done: done)
            }
        }
    }

    /// Reads messages. One that is missing is looked for once more, in a section that shows that the database is the
    /// current one and that this node owns the parts: what a primary that was replaced does not have is not damaged.
    ///
    /// - Parameter owned: The epochs of the parts.
    private func read(
        _ wanted: WantedMessages, owned: [Int: Int64],
        done: @escaping (Result<ReadMessages, LedgerFault>) -> Void
    ) {
        send(wanted) { [weak self] result in
            guard let self, case .success(var read) = result else { return done(result) }
            let missing = wanted.only(Set(wanted.seqs.filter { !read.has($0) }))
            if missing.seqs.isEmpty { return done(result) }
            send(missing, holding: owned.filter { missing.parts.contains($0.key) }) { result in
                done(
                    result.map { again in
                        read.add(again)
                        return read
                    })
            }
        }
    }

    private func send(
        _ wanted: WantedMessages, holding held: [Int: Int64] = [:],
        done: @escaping (Result<ReadMessages, LedgerFault>) -> Void
    ) {
        if wanted.seqs.isEmpty { return done(.success(ReadMessages())) }
        let section = PostgreSQLSection()
        hold(held, in: section)
        for (part, rows) in wanted.rows {
            add(rows.keys, to: section, StoreStatements.findBodies, part: Int32(part))
        }
        findLater(wanted.scheduled, in: section)
        reads.send(section, timeout: Self.timeout) { [storeName] reply in
            switch reply {
            case .done(let results):
                guard held.isEmpty || results[0].rowCount == held.count else {
                    return done(.failure(LedgerFault("\(storeName): \(Self.notOwned)")))
                }
                do {
                    done(.success(try Self.messages(results[(held.isEmpty ? 0 : 1)...], wanted)))
                } catch {
                    done(.failure(LedgerFault("\(error)")))
                }
            case .refused(let failure): done(.failure(LedgerFault("\(failure)")))
            case .unknown(let reason), .notSent(let reason): done(.failure(LedgerFault(reason)))
            }
        }
    }

    static let notOwned =
        "rows are missing, and it does not show this node as the owner of their partitions; they are looked for again"

    /// Adds the proof that parts are owned, as the first call of a section; none if there are no parts.
    func hold(_ parts: [Int: Int64], in section: PostgreSQLSection) {
        if parts.isEmpty { return }
        section.call(StoreStatements.holdParts) { parameters in
            parameters.append(int4Array: parts.lazy.map { Int32($0.key) })
            parameters.append(int8Array: parts.lazy.map { $0.value })
        }
    }

    func findLater(_ seqs: [UInt64], in section: PostgreSQLSection) {
        section.call(StoreStatements.findLater) { parameters in
            parameters.append(int4Array: seqs.lazy.map { Int32(EventNumber.part(of: $0)) })
            parameters.append(int8Array: seqs.lazy.map { Int64(bitPattern: $0) })
            parameters.append(int8: Self.readSize)
        }
    }

    /// Reads a row of bodies.
    static func bodies(_ row: PostgreSQLRow) throws -> (MessageRow, number: UInt64) {
        let number = UInt64(bitPattern: try row.value(0, as: Int64.self))
        guard let (apps, heads) = StoredBodies.heads(try row.value(2)) else {
            throw StoreError(.damaged, "row \(number) of the table bodies is damaged")
        }
        let stored = MessageRow(
            first: number, count: heads.count / MessageRowBuilder.headSize,
            time: WallTime(milliseconds: try row.value(1)), apps: apps, heads: heads, bodies: try row.value(3))
        return (stored, number)
    }

    /// Reads a row of scheduled messages. The message is nil if it is damaged, and not read if the reading was full.
    static func later(_ row: PostgreSQLRow) throws -> (seq: UInt64, message: StoredMessage?, isRead: Bool) {
        let seq = UInt64(bitPattern: try row.value(0, as: Int64.self))
        guard try row.value(3) else { return (seq, nil, false) }
        guard let app = AppID(try row.value(2, as: String.self)) else { return (seq, nil, true) }
        let time = WallTime(milliseconds: try row.value(1))
        let content = unsafe try row.withBytes(4) { bytes in
            var reader = unsafe ByteReader(bytes)
            return MessageRecord.read(&reader, app: app)
        }
        return (seq, content.map { StoredMessage(time: time, content: $0) }, true)
    }

    private static func messages(
        _ results: ArraySlice<PostgreSQLResult>, _ wanted: WantedMessages
    ) throws -> ReadMessages {
        var read = ReadMessages()
        for result in results.prefix(wanted.rows.count) {
            for row in result.rows {
                let (stored, number) = try bodies(row)
                for seq in wanted.rows[EventNumber.part(of: number)]?[number] ?? [] {
                    read.found[seq] = stored.message(seq).map { StoredMessage(time: stored.time, content: $0) }
                }
            }
        }
        guard let scheduled = results.dropFirst(wanted.rows.count).first else { return read }
        for row in scheduled.rows {
            let (seq, message, isRead) = try later(row)
            read.found[seq] = message
            if !isRead { read.unread.insert(seq) }
        }
        return read
    }
}

/// What a reading has found.
private struct ReadMessages {
    var found: [UInt64: StoredMessage] = [:]
    /// The messages that are stored and were not read, because those before them were large enough.
    var unread: Set<UInt64> = []

    func has(_ seq: UInt64) -> Bool { found[seq] != nil || unread.contains(seq) }

    mutating func add(_ other: ReadMessages) {
        found.merge(other.found) { $1 }
        unread.formUnion(other.unread)
    }
}

/// The messages that are to be read at once.
private struct WantedMessages {
    /// All of them, in the order of the caller.
    private(set) var seqs: [UInt64] = []
    /// The waiting ones, by part and by the first number of their row.
    private(set) var rows: [Int: [UInt64: [UInt64]]] = [:]
    /// The scheduled ones, in the order of the caller.
    private(set) var scheduled: [UInt64] = []
    private(set) var rowCount = 0

    mutating func add(_ seq: UInt64, row: UInt64, part: Int) {
        seqs.append(seq)
        if rows[part]?[row] == nil { rowCount += 1 }
        rows[part, default: [:]][row, default: []].append(seq)
    }

    mutating func add(scheduled seq: UInt64) {
        seqs.append(seq)
        scheduled.append(seq)
    }

    /// Returns those of the given numbers.
    func only(_ wanted: Set<UInt64>) -> WantedMessages {
        var some = WantedMessages()
        some.seqs = seqs.filter(wanted.contains)
        some.scheduled = scheduled.filter(wanted.contains)
        for (part, rows) in rows {
            let found = rows.mapValues { $0.filter(wanted.contains) }.filter { !$0.value.isEmpty }
            if !found.isEmpty { some.rows[part] = found }
            some.rowCount += found.count
        }
        return some
    }

    var parts: Set<Int> { Set(seqs.map { EventNumber.part(of: $0) }) }
}
