/// One line while it is built: bytes with a bound, in which nothing that came from outside can end the line, move the
/// cursor or turn the direction of reading.
struct LogLine {
    private(set) var bytes: [UInt8] = []
    private(set) var isTruncated = false
    private var limit: Int

    /// `limit` counts every byte of the line, its newline too.
    init(limit: Int) {
        self.limit = limit
    }

    var text: String { String(decoding: bytes, as: UTF8.self) }
    var room: Int { limit - bytes.count }

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        isTruncated = false
    }

    /// Sets room aside for what closes the line.
    mutating func reserve(_ count: Int) {
        limit -= count
    }

    mutating func release(_ count: Int) {
        limit += count
    }

    mutating func markTruncated() {
        isTruncated = true
    }

    /// Text of our own: written as it is, whole or not at all.
    mutating func append(_ text: String) {
        guard text.utf8.count <= room else { return isTruncated = true }
        bytes.append(contentsOf: text.utf8)
    }

    /// Text from anywhere. Cut where the room ends, between characters.
    mutating func append(escaping text: String, for style: Escaping) {
        for scalar in text.unicodeScalars {
            if !append(scalar, style) { return isTruncated = true }
        }
    }

    enum Escaping {
        /// A sentence: control characters only.
        case sentence
        /// Between quotes: these and the backslash as well.
        case quoted
        /// Between the quotes of JSON, which knows fewer escapes.
        case json
    }

    private mutating func append(_ scalar: Unicode.Scalar, _ style: Escaping) -> Bool {
        let length: Int
        switch scalar {
        case "\n": return appendWhole("\\n")
        case "\r": return appendWhole("\\r")
        case "\t": return appendWhole("\\t")
        case "\"" where style != .sentence: return appendWhole("\\\"")
        case "\\" where style != .sentence: return appendWhole("\\\\")
        case _ where Self.isHidden(scalar):
            let digits = String(scalar.value, radix: 16)
            guard style == .json else { return appendWhole("\\u{\(digits)}") }
            // Above the first plane JSON wants two halves.
            return appendWhole(
                scalar.utf16.map {
                    let digits = String($0, radix: 16)
                    return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }.joined())
        default: length = UTF8.width(scalar)
        }
        guard length <= room else { return false }
        if length == 1 {
            bytes.append(UInt8(truncatingIfNeeded: scalar.value))
        } else {
            bytes.append(contentsOf: scalar.utf8)
        }
        return true
    }

    private mutating func appendWhole(_ text: String) -> Bool {
        guard text.utf8.count <= room else { return false }
        bytes.append(contentsOf: text.utf8)
        return true
    }

    /// Controls, line and paragraph separators, what turns the direction of reading, and what has no width, which
    /// would let two different texts look the same.
    static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x20...0x7E: false
        case 0...0x1F, 0x7F...0x9F, 0xAD, 0x61C, 0x180E, 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x206F, 0xFEFF,
            0xFFF9...0xFFFB, 0xE0000...0xE007F:
            true
        default: false
        }
    }

    mutating func append(time: WallTime) {
        // Rounded towards the past, also before 1970.
        let seconds = (time.milliseconds >= 0 ? time.milliseconds : time.milliseconds - 999) / 1000
        let days = (seconds >= 0 ? seconds : seconds - 86_399) / 86_400
        let date = WallTime.date(daysSince1970: days)
        let second = seconds - days * 86_400
        append(date.year, digits: 4)
        append("-")
        append(date.month, digits: 2)
        append("-")
        append(date.day, digits: 2)
        append("T")
        append(second / 3600, digits: 2)
        append(":")
        append(second / 60 % 60, digits: 2)
        append(":")
        append(second % 60, digits: 2)
        append(".")
        append(time.milliseconds - seconds * 1000, digits: 3)
        append("Z")
    }

    private mutating func append(_ number: Int64, digits: Int) {
        let text = String(number)
        for _ in text.utf8.count..<max(digits, text.utf8.count) { append("0") }
        append(text)
    }
}
