import PushLogic
import PushModel
import PushTime
import PushWire

/// The column `keys` of a stored group: what the next owner of the part must know about it without its events.
///
///     version u8, number of events, accepted, ended, completed, heads
///
/// `accepted`, `ended` and `completed` are a count and entries of 24, 16 and 8 bytes. `heads` is a count and, for each
/// topic with events in the group, the app (empty for none), the kind, and how far before the next group its last event
/// is. The first group of a day has the heads of all topics.
struct StoredKeyRow {
    let row: KeyRow
    /// The number after the last event of the group.
    let next: UInt64
    /// The last numbers of topics.
    let heads: [LogWriter.Head]

    private static let version: UInt8 = 1

    /// - Parameter given: The number of events; nil if it is that of the segments. Events that were not imported have
    ///   numbers, too.
    static func encode(_ rows: LedgerRows, count given: UInt64? = nil) -> [UInt8] {
        var bytes: [UInt8] = []
        append(rows, count: given, to: &bytes)
        return bytes
    }

    static func append(_ rows: LedgerRows, count given: UInt64? = nil, to bytes: inout [UInt8]) {
        bytes.append(version)
        let count = given ?? rows.segments.reduce(0) { $0 + UInt64(max(0, $1.count)) }
        bytes.appendVarint(count)
        append(rows.acceptedKeys, count: rows.acceptedKeys.count / (AcceptedKey.size / 8), to: &bytes)
        append(rows.endedKeys, count: rows.endedKeys.count / (EndedKey.size / 8), to: &bytes)
        append(rows.completed, count: rows.completed.count, to: &bytes)
        bytes.appendVarint(UInt64(rows.heads.count))
        for head in rows.heads {
            bytes.appendText(head.app?.name ?? "")
            bytes.append(head.kind.rawValue)
            bytes.appendVarint(rows.number + count - head.seq)
        }
    }

    private static func append(_ words: [UInt64], count: Int, to bytes: inout [UInt8]) {
        bytes.appendVarint(UInt64(count))
        if UInt64(1).littleEndian == 1 {
            unsafe words.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
        } else {
            for word in words { bytes.appendWord(word) }
        }
    }

    /// Reads a row; nil if it is damaged or a later version has written it.
    init?(_ bytes: [UInt8], number: UInt64) {
        let read: (KeyRow, UInt64, [LogWriter.Head])? = unsafe bytes.withUnsafeBytes { buffer in
            var reader = unsafe ByteReader(buffer)
            guard reader.byte() == Self.version else { return nil }
            let (next, overflow) = number.addingReportingOverflow(reader.varint())
            guard !overflow, EventNumber.within(next) > 0, EventNumber.part(of: next) == EventNumber.part(of: number)
            else { return nil }
            var row = KeyRow(number: number)
            guard let accepted = Self.range(&reader, size: AcceptedKey.size, in: bytes.count),
                let ended = Self.range(&reader, size: EndedKey.size, in: bytes.count),
                let completed = Self.range(&reader, size: 8, in: bytes.count)
            else { return nil }
            row.accepted = unsafe Self.entries(buffer[accepted], size: AcceptedKey.size) {
                unsafe AcceptedKey($0, at: $1)
            }
            row.ended = unsafe Self.entries(buffer[ended], size: EndedKey.size) { unsafe EndedKey($0, at: $1) }
            row.completed = unsafe Self.entries(buffer[completed], size: 8) { unsafe $0.word(at: 8 * $1) }
            guard let heads = Self.heads(&reader, next: next), !reader.isBroken else { return nil }
            return (row, next, heads)
        }
        guard let (row, next, heads) = read else { return nil }
        (self.row, self.next, self.heads) = (row, next, heads)
    }

    /// Reads a count and skips as many entries. Returns the range of the entries; nil if the bytes end before.
    private static func range(_ reader: inout ByteReader, size: Int, in total: Int) -> Range<Int>? {
        let count = reader.varint()
        guard count <= UInt64(total / size), !reader.isBroken else { return nil }
        let start = reader.offset
        reader.skip(Int(count) * size)
        return reader.isBroken ? nil : start..<reader.offset
    }

    private static func entries<Entry>(
        _ bytes: Slice<UnsafeRawBufferPointer>, size: Int, entry: (UnsafeRawBufferPointer, Int) -> Entry
    ) -> [Entry] {
        let bytes = unsafe UnsafeRawBufferPointer(rebasing: bytes)
        return (0..<(bytes.count / size)).map { unsafe entry(bytes, $0) }
    }

    private static func heads(_ reader: inout ByteReader, next: UInt64) -> [LogWriter.Head]? {
        var heads: [LogWriter.Head] = []
        for _ in 0..<reader.varint() {
            let name = reader.text()
            let kind = EventKind(rawValue: reader.byte())
            let distance = reader.varint()
            guard !reader.isBroken, distance > 0, distance < EventNumber.within(next) else { return nil }
            let seq = next - distance
            // A later version may have written a kind that is unknown here.
            guard let kind else { continue }
            let app = AppID(name)
            guard name.isEmpty || app != nil else { return nil }
            heads.append(LogWriter.Head(app: app, kind: kind, seq: seq))
        }
        return heads
    }
}
