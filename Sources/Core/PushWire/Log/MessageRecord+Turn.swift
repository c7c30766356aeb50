import PushModel
import PushTime

/// The turn of a message that goes out at a local time, at the end of its record.
///
///     flags u8, local seconds, [zone], fallback, [after]
extension MessageRecord {
    private static let hasZone: UInt8 = 1 << 0
    private static let isLater: UInt8 = 1 << 1
    private static let isLast: UInt8 = 1 << 2
    private static let dropsLate: UInt8 = 1 << 3

    static func append(_ turn: LocalTurn, to bytes: inout [UInt8]) {
        bytes.append(
            (turn.zone == nil ? 0 : hasZone) | (turn.after == nil ? 0 : isLater) | (turn.isLast ? isLast : 0)
                | (turn.dropsLate ? dropsLate : 0))
        bytes.appendSigned(turn.local.seconds)
        if let zone = turn.zone { bytes.appendText(zone) }
        bytes.appendSigned(turn.fallback.value)
        if let after = turn.after { bytes.appendSigned(after.value) }
    }

    /// Returns nil if the bytes are damaged.
    static func readTurn(_ reader: inout ByteReader) -> LocalTurn? {
        let flags = reader.byte()
        guard flags & ~(hasZone | isLater | isLast | dropsLate) == 0 else { return nil }
        let local = reader.signed()
        let zone = flags & hasZone != 0 ? reader.text() : nil
        let fallback = UnixSeconds(reader.signed())
        let after = flags & isLater != 0 ? UnixSeconds(reader.signed()) : nil
        guard !reader.isBroken, LocalTime.isWithinYears(local) else { return nil }
        return LocalTurn(
            LocalTime(seconds: local), zone: zone, fallback: fallback, after: after, isLast: flags & isLast != 0,
            dropsLate: flags & dropsLate != 0)
    }
}
