import PushLogic
import PushLoop
import PushModel
import PushPostgreSQL
import PushTime
import PushWire

/// Reading what a group needs before it is decided upon.
extension PostgreSQLCore {
    private static let timeout: Duration = .seconds(30)

    /// Reads rows into the memory of a part and then calls `done`. If that fails, the calls of the part are refused,
    /// because they cannot be decided upon. If rows are missing, it reads once more, in a section that shows that the
    /// database is the current one and that this node owns the part.
    func read(_ needs: PartNeeds, for part: LedgerPart, isHeld: Bool = false, done: @escaping () -> Void) {
        let section = PostgreSQLSection()
        let number = Int32(part.part)
        hold(isHeld ? [part.part: part.epoch] : [:], in: section)
        add(needs.keys, to: section, StoreStatements.findKeys, part: number)
        add(needs.waiting.keys, to: section, StoreStatements.findBodies, part: number)
        findLater(needs.scheduled, in: section)
        add(needs.cancellations, to: section, StoreStatements.findCancels, part: number)
        section.call(StoreStatements.findReceipts) { parameters in
            parameters.append(textArray: needs.receipts.lazy.map(\.app.name))
            parameters.append(textArray: needs.receipts.lazy.map(\.id))
        }
        reads.send(section, timeout: Self.timeout) { [weak self] reply in
            guard let self else { return }
            switch reply {
            case .done(let results):
                health.readsFailSince = nil
                if isHeld, results[0].rowCount == 0 {
                    refuse(part, Self.notOwned)
                    return done()
                }
                do {
                    let isComplete = try take(Array(results.dropFirst(isHeld ? 1 : 0)), of: needs, for: part, isHeld)
                    if !isComplete { return read(needs, for: part, isHeld: true, done: done) }
                } catch {
                    refuse(part, "\(error)")
                }
            case .refused(let failure): refuse(part, "\(failure)")
            case .unknown(let reason), .notSent(let reason):
                // The calls wait while the connection is opened again, but not for long.
                let since = health.readsFailSince ?? loop.now
                health.readsFailSince = since
                if loop.now - since > settings.patience { refuse(part, reason) }
                loop.schedule(after: .milliseconds(20), action: done)
                return
            }
            done()
        }
    }

    func add(
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

    /// Takes what was read. Returns false, and takes nothing as missing, if rows are missing and `isHeld` is false.
    private func take(
        _ results: [PostgreSQLResult], of needs: PartNeeds, for part: LedgerPart, _ isHeld: Bool
    ) throws -> Bool {
        let lookup = part.lookup
        lookup.makeRoom()
        for row in results[0].rows {
            let number = UInt64(bitPattern: try row.value(0, as: Int64.self))
            guard let stored = StoredKeyRow(try row.value(1), number: number) else {
                throw StoreError(.damaged, "row \(number) of the table groups is damaged")
            }
            lookup.add(stored.row, wanted: needs.keys)
        }
        for row in results[1].rows {
            let (stored, number) = try Self.bodies(row)
            for seq in needs.waiting[number] ?? [] {
                if let content = stored.message(seq) {
                    lookup.add(StoredMessage(time: stored.time, content: content), seq: seq)
                }
            }
        }
        // The next reading begins with those that are not read now.
        var unread: Set<UInt64> = []
        for row in results[2].rows {
            let (seq, message, isRead) = try Self.later(row)
            if let message { lookup.add(message, seq: seq) }
            if !isRead { unread.insert(seq) }
        }
        for row in results[3].rows {
            lookup.add(try Self.cancellation(row), number: UInt64(bitPattern: try row.value(0, as: Int64.self)))
        }
        let messages = needs.waiting.values.flatMap(\.self) + needs.scheduled.filter { !unread.contains($0) }
        guard isHeld || lookup.has(needs, messages: messages) else { return false }
        for seq in needs.keys where !lookup.isKnown(key: seq) { lookup.addMissing(key: seq) }
        for seq in messages where !lookup.isKnown(message: seq) { lookup.addMissing(message: seq) }
        for number in needs.cancellations where !lookup.isKnown(cancellation: number) {
            lookup.add(nil, number: number)
        }
        for receipt in needs.receipts { lookup.add(receipt, isKnown: false) }
        for row in results[4].rows {
            guard let app = AppID(try row.value(0, as: String.self)) else { continue }
            lookup.add(PartLookup.ReceiptID(app: app, id: try row.value(1)), isKnown: true)
        }
        return true
    }

    private static func cancellation(_ row: PostgreSQLRow) throws -> StoredCancellation {
        guard let sent: Int64 = try row.optional(1) else { return StoredCancellation(counts: nil) }
        let cancelled: Int64? = try row.optional(2)
        var counts = CancelCounts(sent: UInt64(clamping: sent), cancelled: UInt64(clamping: cancelled ?? 0))
        counts.isOfActivities = StoredCancelPart.areOfActivities(bytes: try row.value(3))
        return StoredCancellation(counts: counts)
    }
}
