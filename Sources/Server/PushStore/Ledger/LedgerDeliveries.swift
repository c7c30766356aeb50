package import PushModel
import PushWire

/// Finds sent deliveries by their ids, the newest part of the log first: in the events that have no trace run yet, and
/// then in the runs. Confined to the reading thread.
///
/// The ids come from devices, and anyone can make them up. Therefore an id that does not exist costs two memory
/// accesses for each run, and rarely the read of a block; the number of runs and that of rows for an id are bounded.
final class LedgerDeliveries {
    /// The number of runs that are searched, each with ``TraceRun/length`` events: the last 16,777,216 events, or all
    /// that are kept if these are fewer. The filters of so many runs take 32 MiB.
    static let maxRuns = 128
    private static let rowsAtOnce = 64

    private struct Run {
        let last: UInt64
        let lows: [UInt8]
        let filter: TraceFilter
    }

    private let runs: SQLiteStatement
    private let run: SQLiteStatement
    private let blocks: SQLiteStatement
    private let block: SQLiteStatement
    private let segment: SQLiteStatement
    private let tail: SQLiteStatement
    private let newest: SQLiteStatement
    private let ends: TraceRunEnds
    private var known: [UInt64: Run] = [:]
    private var untraced = UntracedDeliveries()

    init(_ connection: SQLiteConnection) throws(StoreError) {
        runs = try connection.prepare("SELECT first, last FROM trace_runs ORDER BY first DESC LIMIT ?")
        run = try connection.prepare("SELECT lows, rows FROM trace_runs WHERE first = ?")
        blocks = try connection.prepare("SELECT body FROM trace_blocks WHERE id >= ? AND id < ?")
        block = try connection.prepare("SELECT body FROM trace_blocks WHERE id = ?")
        segment = try connection.prepare("SELECT first, count, time, body FROM log WHERE first = ?")
        tail = try connection.prepare(
            "SELECT first, count, time, body FROM log WHERE first > ? ORDER BY first LIMIT ?")
        newest = try connection.prepare("SELECT first + count - 1 FROM log ORDER BY first DESC LIMIT 1")
        ends = try TraceRunEnds(connection)
    }

    func find(_ ids: [DeliveryID]) throws(StoreError) -> [DeliveryID: SentDelivery] {
        var search = DeliverySearch(ids)
        var all = try storedRuns()
        // The deliveries of a damaged run are not found. It must not hide those after it.
        while let newest = all.first, try !ends.areSound(first: newest.first, last: newest.last) { all.removeFirst() }
        try extend(after: all.first?.last ?? 0)
        try read(search.rows { untraced.rows(of: $0) }, &search)
        for (first, last) in all where !search.isOver { try look(in: first, to: last, &search) }
        return search.found
    }

    // MARK: Runs

    private func storedRuns() throws(StoreError) -> [(first: UInt64, last: UInt64)] {
        defer { runs.reset() }
        runs.bind(1, Int64(Self.maxRuns))
        var all: [(first: UInt64, last: UInt64)] = []
        while try runs.step() { all.append((runs.word(0), runs.word(1))) }
        if known.count >= Self.maxRuns {
            let kept = Set(all.map(\.first))
            known = known.filter { kept.contains($0.key) }
        }
        return all
    }

    private func look(in first: UInt64, to last: UInt64, _ search: inout DeliverySearch) throws(StoreError) {
        let stored = try loaded(first, through: last)
        let wanted = search.hashes.filter { stored.filter.mayContain($0) }
        guard !wanted.isEmpty else { return }
        var places: [UInt32: [Int]] = [:]
        for hash in wanted {
            var found: [Int] = []
            for index in unsafe stored.lows.withUnsafeBytes({ unsafe TraceRun.blocks(of: hash, in: $0) }) {
                defer { block.reset() }
                block.bind(1, first &+ UInt64(index))
                guard try block.step() else { continue }
                let low = unsafe stored.lows.withUnsafeBytes { unsafe $0.word(at: 8 * index) }
                _ = unsafe block.withBlob(0) { unsafe TraceRun.places(of: hash, in: $0, low: low, &found) }
            }
            if !found.isEmpty { places[hash] = Array(found.suffix(DeliverySearch.maxRows)) }
        }
        guard !places.isEmpty else { return }
        let numbers = try numbers(of: Set(places.values.joined()), in: first)
        try read(search.rows { hash in (places[hash] ?? []).compactMap { numbers[$0] } }, &search)
    }

    /// Returns the filter of a run. It is built when the run is first searched.
    private func loaded(_ first: UInt64, through last: UInt64) throws(StoreError) -> Run {
        if let run = known[first], run.last == last { return run }
        var lows: [UInt8] = []
        run.bind(1, first)
        if try run.step() { lows = run.blob(0) }
        run.reset()
        var filter = TraceFilter()
        blocks.bind(1, first)
        blocks.bind(2, first &+ UInt64(lows.count / 8))
        defer { blocks.reset() }
        while try blocks.step() {
            unsafe blocks.withBlob(0) { bytes in
                for index in 0..<(bytes.count / 8) {
                    filter.insert(unsafe UInt32(truncatingIfNeeded: bytes.word(at: 8 * index) >> 32))
                }
            }
        }
        let stored = Run(last: last, lows: lows, filter: filter)
        known[first] = stored
        return stored
    }

    private func numbers(of places: Set<Int>, in first: UInt64) throws(StoreError) -> [Int: UInt64] {
        defer { run.reset() }
        run.bind(1, first)
        guard try run.step() else { return [:] }
        let sorted = places.sorted()
        guard let rows = unsafe run.withBlob(1, { unsafe TraceRun.rows(sorted, in: $0) }) else { return [:] }
        return Dictionary(zip(sorted, rows)) { one, _ in one }
    }

    // MARK: The rest of the log

    private func extend(after last: UInt64) throws(StoreError) {
        newest.reset()
        let end = try newest.step() ? newest.word(0) : 0
        newest.reset()
        let start = max(last, end - min(end, UntracedDeliveries.most))
        // A start that has moved because of the limit only would empty the table with each call.
        if untraced.start < last || untraced.end < start || untraced.start > end { untraced.restart(after: start) }
        if end - min(end, untraced.start) > 2 * UntracedDeliveries.most { untraced.restart(after: start) }
        while untraced.end < end {
            let before = untraced.end
            try extendSome()
            if untraced.end == before { return }
        }
    }

    private func extendSome() throws(StoreError) {
        defer { tail.reset() }
        tail.bind(1, untraced.end)
        tail.bind(2, Int64(Self.rowsAtOnce))
        while try tail.step() {
            guard let segment = LogSegment(tail) else { continue }
            untraced.add(segment)
        }
    }

    private func read(_ rows: [UInt64], _ search: inout DeliverySearch) throws(StoreError) {
        for row in rows {
            segment.bind(1, row)
            defer { segment.reset() }
            if try segment.step(), let segment = LogSegment(segment) { search.add(segment) }
        }
        search.finishPart()
    }
}

extension SQLiteLedger {
    package func sent(_ ids: [DeliveryID]) async throws -> [DeliveryID: SentDelivery] {
        try await read { (reader) throws(StoreError) in try reader.deliveries.find(ids) }
    }
}
