import PushLogic
import PushModel
import PushTime
import PushWire

/// The import of one ledger into the parts of a store: its messages get new numbers in the parts that their ids belong
/// to, and its events and keys follow them.
///
/// A key has no id, only a hash of it. The id comes from the message while it waits, and else from the event of its
/// acceptance. If the retention has removed that event, the key is imported into all parts: its message is done, and a
/// duplicate is recognized wherever it arrives.
struct LedgerImport: ~Copyable {
    /// What was imported.
    struct Counts {
        var messages = 0
        var scheduled = 0
        var keys = 0
        var keysInAllParts = 0
        var events = 0
    }

    private let map: PartitionMap
    private let now: WallTime
    private var parts: [ImportedPart]
    private(set) var numbers = ImportNumbers()
    /// The parts of the messages that wait, or waited with those.
    private var waiting: [UInt64: Int] = [:]
    private(set) var counts = Counts()

    /// - Parameter positions: Positions in the log, such as those of webhooks.
    init(_ map: PartitionMap, at now: WallTime, positions: [UInt64] = []) {
        self.map = map
        self.now = now
        parts = (0..<map.count).map { ImportedPart($0, positions: positions) }
    }

    /// The positions in each part.
    var places: [[UInt64]] { parts.map(\.places) }

    /// The newest number of each part.
    var newest: [UInt64] { parts.map(\.newest) }

    func part(of app: AppID, _ id: MessageID) -> Int { map.partition(of: app, id).number }

    private func bounded(_ time: WallTime) -> WallTime { min(time, now) }

    // MARK: Numbers

    /// Adds a message that waits, before anything else.
    mutating func addWaiting(_ seq: UInt64, in part: Int) { waiting[seq] = part }

    /// Gives numbers to the messages whose keys are not in any row, and returns the rows that keep these numbers free.
    mutating func numberOthers(besides ranges: [(first: UInt64, count: Int)]) -> [ImportedPart.Row] {
        for range in ranges { numbers.addRow(first: range.first, count: range.count) }
        var others = Array(repeating: [UInt64](), count: map.count)
        for (seq, part) in waiting.sorted(by: { $0.key < $1.key }) where !numbers.hasRow(of: seq) {
            others[part].append(seq)
        }
        var rows: [ImportedPart.Row] = []
        for part in parts.indices {
            var next = parts[part].newest + 1
            for seq in others[part] {
                numbers.set(seq, to: next)
                next += 1
            }
            if let row = parts[part].reserve(others[part].count, at: now) { rows.append(row) }
        }
        return rows
    }

    // MARK: Events and keys

    /// Imports the events of some groups, with their keys. Returns the rows to be stored.
    mutating func add(_ segments: [LogSegment], keys: [SourceLedger.Keys]) throws -> [ImportedPart.Row] {
        var accepted: [UInt64: AcceptedKey] = [:]
        for group in keys {
            for (index, key) in group.row.accepted.enumerated() { accepted[group.row.number + UInt64(index)] = key }
        }
        counts.keys += accepted.count
        for segment in segments {
            var copies: [EventCopy] = []
            unsafe try segment.walk { event, apps, bytes in
                unsafe copies.append(EventCopy(event, apps: apps, bytes: bytes))
                return true
            }
            for copy in copies { add(copy, key: accepted.removeValue(forKey: copy.number)) }
        }
        for (seq, key) in accepted.sorted(by: { $0.key < $1.key }) { addEventless(key, of: seq) }
        for part in parts {
            for (old, new) in part.numbers where accepted[old] == nil || waiting[old] != nil {
                numbers.set(old, to: new)
            }
        }
        for group in keys { addEnds(of: group.row) }
        let times = segments.map(\.time) + keys.map(\.time)
        let time = bounded(times.max() ?? now)
        return parts.indices.compactMap { parts[$0].row(at: time, renumbering: numbers) }
    }

    private mutating func add(_ event: EventCopy, key: AcceptedKey?) {
        counts.events += 1
        var part = 0
        if let app = event.app, let text = event.messageID,
            let id = MessageID(accepted: String(decoding: text, as: UTF8.self))
        {
            part = self.part(of: app, id)
        }
        if let key { parts[part].add(key, accepted: event) } else { parts[part].add(event) }
    }

    private mutating func addEventless(_ key: AcceptedKey, of seq: UInt64) {
        if let part = waiting[seq] { return parts[part].add(key, old: seq) }
        counts.keysInAllParts += 1
        for part in parts.indices { parts[part].add(key, old: seq) }
    }

    private mutating func addEnds(of row: KeyRow) {
        for key in row.ended {
            if let new = numbers[key.seq] {
                parts[EventNumber.part(of: new)].add(ended: key.numbered(new))
            } else {
                // The message is done and its part is not known. Only the claim of the device matters.
                for part in parts.indices { parts[part].add(ended: key.numbered(EventNumber.base(of: part))) }
            }
        }
        for seq in row.completed {
            if let new = numbers[seq] { parts[EventNumber.part(of: new)].add(completed: new) }
        }
    }

    // MARK: Messages

    /// Divides a row of waiting messages among the parts.
    mutating func divide(_ row: MessageRow, of source: SourceLedger) throws -> [(part: Int, bodies: StoredBodies)] {
        var builders: [Int: MessageRowBuilder] = [:]
        var found: [(part: Int, bodies: StoredBodies)] = []
        var count = 0
        try source.forEachMessage(of: row) { seq, message in
            guard let new = numbers[seq] else { return }
            let part = EventNumber.part(of: new)
            // Numbers in between would take a place each.
            if let full = builders[part], full.isFull || new < full.first || new - full.first > Self.longestRow {
                found.append((part, StoredBodies(full)))
                builders[part] = nil
            }
            builders[part, default: MessageRowBuilder(first: new)].add(
                PushRequest(message.message, to: message.audience), new, needsClaim: message.needsClaim)
            count += 1
        }
        counts.messages += count
        return found + builders.sorted { $0.key < $1.key }.map { ($0.key, StoredBodies($0.value)) }
    }

    private static let longestRow: UInt64 = 4096

    mutating func countScheduled() { counts.scheduled += 1 }
}

extension EndedKey {
    fileprivate func numbered(_ seq: UInt64) -> EndedKey {
        EndedKey(fingerprint: fingerprint, seq: seq, outcome: outcome, isClaimed: isClaimed, isOnly: isOnly)
    }
}
