import PushModel
import PushTime
import PushWire

/// The 32-bit checksums of stored messages, which detect damage before a message is sent. Files of earlier versions have
/// none.
enum MessageChecksum {
    static let size = 4

    /// Returns the checksum of an app's name, which is a part of that of its messages.
    static func of(_ app: AppID) -> UInt32 {
        var name = app.name
        return name.withUTF8 {
            unsafe LogChecksum.of(UnsafeRawBufferPointer($0), first: 0, count: 0, time: .distantPast)
        }
    }

    /// Returns the checksum of a record under a number.
    ///
    /// - Parameter place: Other values that the record is stored with.
    static func of(
        _ record: UnsafeRawBufferPointer, seq: UInt64, place: Int, app: UInt32, time: WallTime
    ) -> UInt32 {
        unsafe app ^ LogChecksum.of(record, first: seq, count: place, time: time)
    }
}

extension MessageRowBuilder {
    /// Returns the checksums of the messages, 4 bytes each. They are 0 for numbers that belong to scheduled messages.
    func sums(at time: WallTime) -> [UInt8] {
        let names = apps.map { MessageChecksum.of($0) }
        var sums = [UInt8](repeating: 0, count: MessageChecksum.size * count)
        unsafe sums.withUnsafeMutableBytes { sums in
            unsafe heads.withUnsafeBytes { heads in
                unsafe bodies.withUnsafeBytes { bodies in
                    // A record ends where the next one begins.
                    var end = bodies.count
                    for index in (0..<count).reversed() {
                        guard let head = unsafe MessageHead(heads, at: index) else { continue }
                        let record = unsafe UnsafeRawBufferPointer(rebasing: bodies[head.offset..<end])
                        end = head.offset
                        let sum = unsafe MessageChecksum.of(
                            record, seq: first + UInt64(index), place: head.lane, app: names[head.app], time: time)
                        unsafe sums.storeBytes(
                            of: sum.littleEndian, toByteOffset: MessageChecksum.size * index, as: UInt32.self)
                    }
                }
            }
        }
        return sums
    }
}

extension MessageRow {
    /// Returns whether a record is as it was written, or the row is of an earlier version.
    func isSound(_ record: UnsafeRawBufferPointer, at index: Int, _ head: MessageHead) -> Bool {
        guard let sums else { return true }
        guard sums.count >= MessageChecksum.size * (index + 1) else { return false }
        let written = unsafe sums.withUnsafeBytes {
            unsafe $0.loadUnaligned(fromByteOffset: MessageChecksum.size * index, as: UInt32.self)
        }
        let sum = unsafe MessageChecksum.of(
            record, seq: first + UInt64(index), place: head.lane, app: MessageChecksum.of(apps[head.app]), time: time)
        return UInt32(littleEndian: written) == sum
    }
}

extension LedgerRows.ScheduledRow {
    func sum(at time: WallTime) -> UInt32 {
        unsafe body.withUnsafeBytes {
            unsafe MessageChecksum.of(
                $0, seq: seq, place: Int(truncatingIfNeeded: due.value), app: MessageChecksum.of(app), time: time)
        }
    }
}
