/// Reads files of the time zone database in the form of RFC 8536 (TZif). Whatever a file says, the memory and the time
/// that it costs are bounded.
package enum ZoneFile {
    /// The largest size of a file. Those of the database have less than 4 KiB.
    package static let maxSize = 64 << 10

    private static let maxTransitions = 4096
    private static let maxTypes = 256
    private static let maxNames = 4096

    /// Whether a file is of this form at all.
    package static func isOne(_ bytes: [UInt8]) -> Bool { bytes.starts(with: "TZif".utf8) }

    /// Returns nil if the file is damaged, or counts leap seconds.
    package static func rules(_ bytes: [UInt8]) -> ZoneRules? {
        guard bytes.count <= maxSize, isOne(bytes) else { return nil }
        var reading = Reading(bytes)
        guard let old = reading.header() else { return nil }
        if old.version == 0 { return reading.rules(old, wide: false, rule: nil) }
        guard reading.skip(old.size(wide: false)), let header = reading.header(), header.version > 0 else { return nil }
        var footer = reading
        guard footer.skip(header.size(wide: true)), let text = footer.line() else { return nil }
        if text.isEmpty { return reading.rules(header, wide: true, rule: nil) }
        guard let rule = ZoneText.rule(text), isPlausible(rule) else { return nil }
        return reading.rules(header, wide: true, rule: rule)
    }

    private static func isPlausible(_ rule: YearlyRule) -> Bool {
        abs(rule.standard) < ZoneRules.maxOffset && abs(rule.summer?.offset ?? 0) < ZoneRules.maxOffset
    }

    private struct Header {
        let version: UInt8
        let universals: Int
        let standards: Int
        let leaps: Int
        let transitions: Int
        let types: Int
        let names: Int

        func size(wide isWide: Bool) -> Int {
            let width = isWide ? 8 : 4
            return transitions * (width + 1) + types * 6 + names + leaps * (width + 4) + standards + universals
        }

        var isPlausible: Bool {
            (1...ZoneFile.maxTypes).contains(types) && transitions <= ZoneFile.maxTransitions
                && names <= ZoneFile.maxNames
                && leaps == 0 && (universals == 0 || universals == types) && (standards == 0 || standards == types)
        }
    }

    private struct Reading {
        private let bytes: [UInt8]
        private var place = 0

        init(_ bytes: [UInt8]) {
            self.bytes = bytes
        }

        mutating func skip(_ count: Int) -> Bool {
            guard count <= bytes.count - place else { return false }
            place += count
            return true
        }

        private mutating func number(_ width: Int) -> UInt64? {
            guard width <= bytes.count - place else { return nil }
            let number = bytes[place..<place + width].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            place += width
            return number
        }

        private mutating func signed(wide isWide: Bool) -> Int64? {
            guard let number = number(isWide ? 8 : 4) else { return nil }
            return isWide ? Int64(bitPattern: number) : Int64(Int32(truncatingIfNeeded: number))
        }

        mutating func header() -> Header? {
            guard bytes[place...].starts(with: "TZif".utf8), skip(4), let version = number(1), skip(15) else {
                return nil
            }
            var counts: [Int] = []
            for _ in 0..<6 {
                guard let count = number(4) else { return nil }
                counts.append(Int(count))
            }
            let header = Header(
                version: UInt8(version), universals: counts[0], standards: counts[1], leaps: counts[2],
                transitions: counts[3], types: counts[4], names: counts[5])
            return header.isPlausible ? header : nil
        }

        /// Reads the line between two line feeds at the end of the file.
        mutating func line() -> String? {
            guard number(1) == 10, let end = bytes[place...].firstIndex(of: 10) else { return nil }
            return String(decoding: bytes[place..<end], as: UTF8.self)
        }

        mutating func rules(_ header: Header, wide isWide: Bool, rule: YearlyRule?) -> ZoneRules? {
            var starts: [Int64] = []
            for _ in 0..<header.transitions {
                guard let time = signed(wide: isWide), starts.last.map({ $0 < time }) ?? true else { return nil }
                starts.append(time)
            }
            var kinds: [Int] = []
            for _ in 0..<header.transitions {
                guard let kind = number(1), kind < header.types else { return nil }
                kinds.append(Int(kind))
            }
            var offsets: [Int64] = []
            for _ in 0..<header.types {
                guard let offset = signed(wide: false), abs(offset) < ZoneRules.maxOffset, skip(2) else { return nil }
                offsets.append(offset)
            }
            return ZoneRules(starts: starts, offsets: kinds.map { offsets[$0] }, first: offsets[0], rule: rule)
        }
    }
}
