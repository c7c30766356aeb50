import PushLogic
import PushModel
import PushTime
import PushWire

/// One part of a store while events and keys are imported into it. It collects what belongs to one row.
struct ImportedPart {
    /// A row of the table `groups`.
    struct Row {
        let part: Int
        let number: UInt64
        let time: WallTime
        let keys: [UInt8]
        let log: [UInt8]
        let sent: [UInt8]
    }

    let part: Int
    private var writer: LogWriter
    /// The day of the last row.
    private var day: Int32?

    // The next row. The numbers of accepted messages come first, as rows of keys need it: those without an event, and
    // then those with one.
    private var eventless: [(old: UInt64, key: AcceptedKey)] = []
    private var accepted: [(event: EventCopy, key: AcceptedKey)] = []
    private var events: [EventCopy] = []
    private var ended: [UInt64] = []
    private var completed: [UInt64] = []

    /// Old positions in the log, and the number of the first event here that comes after each of them.
    private let positions: [UInt64]
    private var firstAfter: [UInt64?]

    /// - Parameter positions: Positions in the old log, for which ``places`` has those in this part.
    init(_ part: Int, positions: [UInt64] = []) {
        self.part = part
        self.positions = positions
        firstAfter = positions.map { _ in nil }
        writer = LogWriter(next: EventNumber.base(of: part) + 1)
    }

    /// For each old position the last number before the events that came after it. A few events that came before it may
    /// be among those, because the events of a row are not in their old order.
    var places: [UInt64] { firstAfter.map { $0.map { $0 - 1 } ?? newest } }

    private mutating func note(_ old: UInt64) {
        for index in positions.indices where firstAfter[index] == nil && old > positions[index] {
            firstAfter[index] = writer.next
        }
    }

    /// The newest number.
    var newest: UInt64 { writer.next - 1 }

    /// Takes a number that no event has.
    private mutating func skip(_ count: Int) {
        if count > 0 { writer = LogWriter(next: writer.next + UInt64(count), heads: writer.topics) }
    }

    // MARK: Collecting

    mutating func add(_ key: AcceptedKey, old: UInt64) { eventless.append((old, key)) }
    mutating func add(_ key: AcceptedKey, accepted event: EventCopy) { accepted.append((event, key)) }
    mutating func add(_ event: EventCopy) { events.append(event) }
    mutating func add(ended key: EndedKey) { key.append(to: &ended) }
    mutating func add(completed number: UInt64) { completed.append(number) }

    /// Returns the numbers that the accepted messages of the next row get.
    var numbers: [(old: UInt64, new: UInt64)] {
        (eventless.map(\.old) + accepted.map(\.event.number)).enumerated().map { ($1, writer.next + UInt64($0)) }
    }

    // MARK: Rows

    /// Returns a row for messages of which only the numbers are needed: their keys are elsewhere or forgotten.
    mutating func reserve(_ count: Int, at time: WallTime) -> Row? {
        guard count > 0 else { return nil }
        let number = writer.next
        let rows = LedgerRows(at: time, number: number)
        skip(count)
        return Row(
            part: part, number: number, time: time, keys: StoredKeyRow.encode(rows, count: UInt64(count)), log: [],
            sent: [])
    }

    /// Returns a row with what was collected; nil if nothing was.
    mutating func row(at time: WallTime, renumbering numbers: borrowing ImportNumbers) -> Row? {
        let isEmpty = eventless.isEmpty && accepted.isEmpty && events.isEmpty && ended.isEmpty && completed.isEmpty
        if isEmpty { return nil }
        let number = writer.next
        var rows = LedgerRows(at: time, number: number)
        skip(eventless.count)
        writer.setMark()
        let copies = accepted.map(\.event) + events
        for index in stride(from: 0, to: copies.count, by: Self.segmentSize) {
            writer.begin(time: time, reserving: 1 << 16)
            for copy in copies[index..<min(index + Self.segmentSize, copies.count)] {
                var copy = copy
                note(copy.number)
                copy.renumber { numbers[$0] }
                writer.add(copy)
            }
            rows.segments.append(writer.finish())
        }
        let today = LedgerHorizon.day(of: time)
        // The first row of a day has the heads of all topics, because the days before it may be dropped.
        rows.heads = day == today ? writer.changedTopics : writer.topics
        day = today
        // A row needs a number of its own.
        if writer.next == number { skip(1) }
        for (_, key) in eventless { key.append(to: &rows.acceptedKeys) }
        for (_, key) in accepted { key.append(to: &rows.acceptedKeys) }
        (rows.endedKeys, rows.completed) = (ended, completed)
        let row = Row(
            part: part, number: number, time: time,
            keys: StoredKeyRow.encode(rows, count: writer.next - number), log: StoredLogRow.encode(rows),
            sent: StoredSentRow.encode(copies))
        eventless = []
        accepted = []
        events = []
        ended = []
        completed = []
        return row
    }

    /// The number of events in a segment.
    private static let segmentSize = 8192
}
