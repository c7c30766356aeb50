/// Parses CSV (RFC 4180) incrementally, with quoted fields, line ends of either kind, and a byte order mark. The length of
/// a record is limited. After a fault in a record, parsing continues with the next line.
struct CSVReader {
    static let maxRecordSize = 64 * 1024

    enum Item: Equatable {
        /// A record. `line` is the number of its first line, counted from 1.
        case record(line: Int, fields: [String])
        case fault(line: Int, String)
    }

    private var bytes: [UInt8] = []
    private var at = 0
    private var line = 1
    private var isAtStart = true
    private var hasEnded = false
    /// Whether the rest of the current line is skipped, because the line has a fault that was reported.
    private var isSkipping = false

    init() {}

    mutating func received(_ piece: some Collection<UInt8>) {
        if at > 0 {
            bytes.removeSubrange(..<at)
            at = 0
        }
        bytes.append(contentsOf: piece)
    }

    /// Called at the end of the file.
    mutating func ended() { hasEnded = true }

    /// Returns the next item, or nil if more bytes are needed or all have been read. Empty lines are skipped.
    mutating func next() -> Item? {
        if isAtStart {
            guard bytes.count - at >= 3 || hasEnded else { return nil }
            if bytes[at...].starts(with: [0xef, 0xbb, 0xbf]) { at += 3 }
            isAtStart = false
        }
        while true {
            if isSkipping, !skipLine() { return nil }
            guard at < bytes.count else { return nil }
            if bytes[at] == 0x0a {
                (at, line) = (at + 1, line + 1)
                continue
            }
            if bytes[at] == 0x0d, at + 1 < bytes.count, bytes[at + 1] == 0x0a {
                (at, line) = (at + 2, line + 1)
                continue
            }
            return record()
        }
    }

    private enum Scan {
        case done(fields: [String], end: Int, lines: Int)
        case wrong(String)
        case needsMore
    }

    private mutating func record() -> Item? {
        switch scan() {
        case .done(let fields, let end, let lines):
            defer { (at, line) = (end, line + lines) }
            return .record(line: line, fields: fields)
        case .wrong(let what):
            defer { isSkipping = true }
            return .fault(line: line, what)
        case .needsMore:
            guard bytes.count - at <= Self.maxRecordSize, !hasEnded else {
                defer { isSkipping = true }
                return .fault(
                    line: line,
                    hasEnded
                        ? "a closing quotation mark is missing"
                        : "longer than \(Self.maxRecordSize / 1024) KiB: is a closing quotation mark missing?")
            }
            return nil
        }
    }

    private func scan() -> Scan {
        var fields: [String] = []
        var index = at
        var lines = 1
        while true {
            let field: [UInt8]
            switch index < bytes.count && bytes[index] == UInt8(ascii: "\"")
                ? scanQuoted(at: &index, lines: &lines) : scanPlain(at: &index)
            {
            case .field(let found): field = found
            case .ended(let scan): return scan
            }
            guard index - at <= Self.maxRecordSize else {
                return .wrong("longer than \(Self.maxRecordSize / 1024) KiB: is a closing quotation mark missing?")
            }
            guard let text = String(validating: field, as: UTF8.self) else { return .wrong("not valid UTF-8") }
            fields.append(text)
            if index == bytes.count { return hasEnded ? .done(fields: fields, end: index, lines: lines) : .needsMore }
            switch bytes[index] {
            case UInt8(ascii: ","): index += 1
            case 0x0a: return .done(fields: fields, end: index + 1, lines: lines)
            case 0x0d:
                // A carriage return after a closing quotation mark.
                if index + 1 == bytes.count {
                    return hasEnded ? .done(fields: fields, end: index + 1, lines: lines) : .needsMore
                }
                guard bytes[index + 1] == 0x0a else { fallthrough }
                return .done(fields: fields, end: index + 2, lines: lines)
            default: return .wrong("text after a closing quotation mark: double the marks within a field")
            }
        }
    }

    private enum Field {
        case field([UInt8])
        /// What the record is instead.
        case ended(Scan)
    }

    /// Reads a quoted field, and leaves the index behind its closing quotation mark.
    private func scanQuoted(at index: inout Int, lines: inout Int) -> Field {
        var field: [UInt8] = []
        index += 1
        while true {
            guard index < bytes.count else { return .ended(.needsMore) }
            let byte = bytes[index]
            index += 1
            guard byte == UInt8(ascii: "\"") else {
                if byte == 0x0a { lines += 1 }
                field.append(byte)
                continue
            }
            // The next byte decides whether this quotation mark closes the field.
            if index == bytes.count, !hasEnded { return .ended(.needsMore) }
            guard index < bytes.count, bytes[index] == UInt8(ascii: "\"") else { return .field(field) }
            field.append(byte)
            index += 1
        }
    }

    private func scanPlain(at index: inout Int) -> Field {
        var field: [UInt8] = []
        while index < bytes.count, bytes[index] != UInt8(ascii: ","), bytes[index] != 0x0a {
            if bytes[index] == UInt8(ascii: "\"") {
                return .ended(.wrong("a quotation mark within a field: quote the field and double the mark"))
            }
            field.append(bytes[index])
            index += 1
        }
        guard index < bytes.count || hasEnded else { return .ended(.needsMore) }
        if field.last == 0x0d { field.removeLast() }
        return .field(field)
    }

    /// Skips the current line. Returns false if its end has not been received yet.
    private mutating func skipLine() -> Bool {
        guard let end = bytes[at...].firstIndex(of: 0x0a) else {
            at = bytes.count
            return false
        }
        (at, line, isSkipping) = (end + 1, line + 1, false)
        return true
    }
}
