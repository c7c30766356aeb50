/// A log line under construction, with a maximum size. Text from outside cannot end the line, move the cursor or change
/// the reading direction.
struct LogLine {
    private(set) var bytes: [UInt8] = []
    private(set) var isTruncated = false
    private var limit: Int

    /// Creates a line of at most `limit` bytes, including its newline.
    init(limit: Int) {
        self.limit = limit
    }

    var text: String { String(decoding: bytes, as: UTF8.self) }
    var room: Int { limit - bytes.count }

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        isTruncated = false
    }

    /// Reserves room for the end of the line.
    mutating func reserve(_ count: Int) {
        limit -= count
    }

    mutating func release(_ count: Int) {
        limit += count
    }

    mutating func markTruncated() {
        isTruncated = true
    }

    /// Appends trusted text without escaping, completely or not at all.
    mutating func append(_ text: String) {
        guard text.utf8.count <= room else { return isTruncated = true }
        bytes.append(contentsOf: text.utf8)
    }

    /// Appends text from any source, escaped. If the room runs out, the text is cut between two characters.
    mutating func append(escaping text: String, for style: Escaping) {
        for scalar in text.unicodeScalars {
            if !append(scalar, for: style) { return isTruncated = true }
        }
    }

    enum Escaping {
        /// Escapes control characters only.
        case sentence
        /// Escapes quotes and backslashes as well, for text between quotes.
        case quoted
        /// Escapes for a JSON string, which supports fewer escape sequences.
        case json
    }

    private mutating func append(_ scalar: Unicode.Scalar, for style: Escaping) -> Bool {
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
            // JSON writes characters above U+FFFF as a surrogate pair.
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

    /// Returns whether the character is a control character, a line or paragraph separator, a bidirectional control, or
    /// has no width. Characters without width could make two different texts look equal.
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
        // Round down (toward the past), also before 1970.
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
