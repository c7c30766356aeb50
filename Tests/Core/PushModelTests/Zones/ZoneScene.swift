import PushTime

/// Writes files of a time zone database.
enum ZoneScene {
    /// Returns a file with these changes, each with the number of seconds by which the clock is ahead from then on.
    static func file(
        first: Int32 = 0, _ changes: [(time: Int64, offset: Int32)] = [], rule: String = "", version: UInt8 = 2
    ) -> [UInt8] {
        let offsets = [first] + changes.map(\.offset)
        func block(wide isWide: Bool) -> [UInt8] {
            var bytes = Array("TZif".utf8) + [version == 0 ? 0 : UInt8(ascii: "0") + version]
            bytes += [UInt8](repeating: 0, count: 15)
            for count in [0, 0, 0, changes.count, offsets.count, 4] { bytes += big(UInt32(count)) }
            for change in changes { bytes += isWide ? big(change.time) : big(Int32(clamping: change.time)) }
            for number in changes.indices { bytes.append(UInt8(number + 1)) }
            for offset in offsets { bytes += big(offset) + [0, 0] }
            return bytes + Array("LMT\0".utf8)
        }
        if version == 0 { return block(wide: false) }
        return block(wide: false) + block(wide: true) + Array("\n\(rule)\n".utf8)
    }

    static func rules(_ rule: String) -> ZoneRules? { ZoneFile.rules(file(rule: rule)) }

    private static func big(_ number: some FixedWidthInteger) -> [UInt8] {
        (0..<number.bitWidth / 8).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }
}

extension LocalTime {
    /// The same time on a clock that shows UTC.
    var utc: Int64 { seconds }
}
