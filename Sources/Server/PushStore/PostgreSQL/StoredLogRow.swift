import PushModel
import PushTime
import PushWire

/// The column `log` of a stored group: its segments, one after the other.
///
///     [number of the first event, number of events, time, bytes] ...
///
/// The number of the first event is relative to that of the group, and the time, signed and in milliseconds, to that of
/// the group.
enum StoredLogRow {
    static func encode(_ rows: LedgerRows) -> [UInt8] {
        var bytes: [UInt8] = []
        append(rows, to: &bytes)
        return bytes
    }

    static func append(_ rows: LedgerRows, to bytes: inout [UInt8]) {
        for segment in rows.segments where segment.count > 0 {
            bytes.appendVarint(segment.first - rows.number)
            bytes.appendVarint(UInt64(segment.count))
            bytes.appendSigned(segment.time.milliseconds &- rows.time.milliseconds)
            bytes.appendBytes(segment.bytes)
        }
    }

    /// Reads the segments of a row; nil if it is damaged.
    static func decode(_ bytes: [UInt8], number: UInt64, time: WallTime) -> [LogSegment]? {
        unsafe bytes.withUnsafeBytes { buffer in
            var reader = unsafe ByteReader(buffer)
            var segments: [LogSegment] = []
            while !reader.isAtEnd {
                let (first, overflow) = number.addingReportingOverflow(reader.varint())
                let count = reader.varint()
                let time = WallTime(milliseconds: time.milliseconds &+ reader.signed())
                let content = reader.blob()
                guard !reader.isBroken, !overflow, EventNumber.within(first) > 0,
                    count > 0, count <= UInt64(UInt32.max),
                    EventNumber.part(of: first &+ count) == EventNumber.part(of: number)
                else { return nil }
                segments.append(LogSegment(first: first, count: Int(count), time: time, bytes: content))
            }
            return segments
        }
    }
}
