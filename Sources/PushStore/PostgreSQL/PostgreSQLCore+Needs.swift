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

    private func take(_ results: [PostgreSQLResult], of needs: PartNeeds, for part: LedgerPart) throws {
        let lookup = part.lookup
        lookup.makeRoom()
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
}
