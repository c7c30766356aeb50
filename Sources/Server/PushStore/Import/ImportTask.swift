import PushLogic
import PushModel
import PushPostgreSQL
import PushTime
import PushWire

/// The copying of an import, from the files into the tables.
struct ImportTask {
    let call: StoreCall
    private let map: PartitionMap
    private let now: WallTime

    init(_ call: StoreCall, map: PartitionMap, now: WallTime) {
        self.call = call
        self.map = map
        self.now = now
    }

    private static let keyRowsAtOnce: Int64 = 32
    private static let segmentsAtOnce: Int64 = 32
    private static let acceptedAtOnce = 30_000

    // MARK: Ledger

    func copyLedger(
        _ source: SourceLedger, webhooks: [ImportedWebhook] = []
    ) async throws -> LedgerImport.Counts {
        try await StoreTables(call).addPartitions(at: now)
        var days = try await StoreTables(call).groupDays()
        // The log of a position beyond its newest number was replaced, and nothing of it is delivered.
        let newestOld = try source.newest()
        let positions = webhooks.map { $0.position > newestOld ? 0 : $0.position }
        var work = LedgerImport(map, at: now, positions: positions)
        let cancels = try source.cancels()
        try await addWaiting(of: source, cancels: cancels, to: &work)
        try await store(work.numberOthers(besides: try source.keyRanges()), days: &days)
        var (place, lastKey): (UInt64, UInt64) = (0, 0)
        while true {
            let keys = Self.batch(try source.keys(after: lastKey, limit: Self.keyRowsAtOnce), cutAt: positions)
            let first = keys.first?.row.number ?? UInt64(Int64.max)
            while true {
                let segments = try source.segments(from: place, before: first, limit: Self.segmentsAtOnce)
                guard let last = segments.last else { break }
                place = last.first + 1
                try await store(work.add(segments, keys: []), days: &days)
            }
            guard let last = keys.last else { break }
            // The events of the accepted messages are the first ones of each group.
            let end = keys.reduce(first) { max($0, $1.row.number + UInt64(max(1, $1.row.accepted.count))) }
            try await store(
                work.add(try source.segments(from: first, before: end, limit: .max), keys: Array(keys)), days: &days)
            (place, lastKey) = (end, last.row.number)
        }
        try await copyMessages(of: source, with: &work)
        try await copyRest(of: source, cancels: cancels, numbers: work.numbers)
        let (newest, places) = (work.newest, work.places)
        let records = try webhooks.indices.map { index in try webhooks[index].records(at: places.map { $0[index] }) }
        _ = try await call.run { section in
            // The registry of the node has applied these events.
            for number in newest {
                section.call(RegistryStatements.setMark) { parameters in
                    parameters.append(int4: Int32(clamping: EventNumber.part(of: number)))
                    parameters.append(int8: Int64(bitPattern: number))
                }
            }
            for (webhook, records) in zip(webhooks, records) {
                section.add(webhook: webhook.name, standing: webhook.standing, records: records)
            }
        }
        return work.counts
    }

    /// Returns the first rows of keys: those of one day, not too many, and none behind a position that is before another.
    private static func batch(
        _ rows: [SourceLedger.Keys], cutAt positions: [UInt64]
    ) -> ArraySlice<SourceLedger.Keys> {
        var count = 0
        let end = rows.firstIndex { row in
            defer { count += row.row.accepted.count }
            return LedgerHorizon.day(of: row.time) != LedgerHorizon.day(of: rows[0].time)
                || count > Self.acceptedAtOnce
                || positions.contains { rows[0].row.number <= $0 && $0 < row.row.number }
        }
        return rows[..<(end ?? rows.count)]
    }

    private func addWaiting(
        of source: SourceLedger, cancels: [SourceLedger.Cancel], to work: inout LedgerImport
    ) async throws {
        var waiting: [(seq: UInt64, part: Int)] = []
        let map = map
        try await source.forEachMessages { row in
            try source.forEachMessage(of: row) { seq, read in
                waiting.append((seq, map.partition(of: read.message.app, read.message.id).number))
            }
        }
        try await source.forEachScheduled { message in
            guard let id = message.id else {
                throw StoreError(.damaged, "the scheduled message \(message.seq) is damaged; restore it from a backup")
            }
            waiting.append((message.seq, map.partition(of: message.app, id).number))
        }
        for cancel in cancels {
            let part = map.partition(of: cancel.app, cancel.id).number
            for seq in [cancel.number] + cancel.parts.map(\.seq) { waiting.append((seq, part)) }
        }
        for (seq, part) in waiting { work.addWaiting(seq, in: part) }
    }

    private func store(_ rows: [ImportedPart.Row], days: inout Set<Int32>) async throws {
        guard !rows.isEmpty else { return }
        let missing = Set(rows.map { LedgerHorizon.day(of: $0.time) }).subtracting(days)
        days.formUnion(missing)
        _ = try await call.run { section in
            for day in missing.sorted() {
                for sql in StoreSchema.groupsPartition(day) { section.call(.once(sql: sql)) }
            }
            section.add(rows)
        }
    }

    private func copyMessages(of source: SourceLedger, with work: inout LedgerImport) async throws {
        let hour = LedgerHorizon.hour(of: now)
        var queue = ImportQueue(call)
        try await source.forEachMessages { row in
            let bodies = try work.divide(row, of: source)
            guard !bodies.isEmpty else { return }
            let time = min(row.time, now)
            try await queue.add(bytes: row.bodies.count) { $0.add(bodies, accepted: time, hour: hour) }
        }
        try await source.forEachScheduled { message in
            guard let number = work.numbers[message.seq] else { return }
            work.countScheduled()
            try await queue.add(bytes: message.body.count) { $0.add(message, number: number) }
        }
        try await queue.flush()
    }

    private func copyRest(
        of source: SourceLedger, cancels: [SourceLedger.Cancel], numbers: ImportNumbers
    ) async throws {
        var queue = ImportQueue(call)
        for cancel in cancels {
            guard let number = numbers[cancel.number] else { continue }
            let parts = cancel.parts.compactMap { part in
                numbers[part.seq].map {
                    StoredCancelPart(seq: $0, underWay: part.underWay, ended: part.ended, cancelled: part.cancelled)
                }
            }
            try await queue.add(bytes: 256) { $0.add(cancel, number: number, parts: parts) }
        }
        for receipt in try source.receipts() {
            try await queue.add(bytes: 256) { section in
                section.call(ImportStatements.addReceipt) { parameters in
                    parameters.append(text: receipt.app)
                    parameters.append(text: receipt.id)
                    parameters.append(int8: receipt.time)
                }
            }
        }
        for app in try source.paused() {
            try await queue.add(bytes: 256) { section in
                section.call(SharedStatements.setPaused) { parameters in
                    parameters.append(text: app.app)
                    parameters.append(int8: app.since)
                }
            }
        }
        try await queue.flush()
    }
}
