/// Splits bytes into lines incrementally. The length of a line is limited; empty lines and a byte order mark are skipped.
struct LineReader {
    static let maxLength = 64 * 1024

    private var bytes: [UInt8] = []
    private var at = 0
    /// The index up to which no line end was found.
    private var searched = 0
    private var line = 0
    private var hasEnded = false
    private var isAtStart = true
    private var isSkipping = false

    mutating func received(_ piece: some Collection<UInt8>) {
        if at > 0 {
            bytes.removeSubrange(..<at)
            searched = max(0, searched - at)
            at = 0
        }
        bytes.append(contentsOf: piece)
    }

    mutating func ended() { hasEnded = true }

    /// Returns the number of the next line, counted from 1, and its bytes, which are nil if the line is too long. Returns
    /// nil if more bytes are needed or all have been read.
    mutating func next() -> (line: Int, bytes: [UInt8]?)? {
        if isAtStart {
            guard bytes.count - at >= 3 || hasEnded else { return nil }
            if bytes[at...].starts(with: [0xef, 0xbb, 0xbf]) { at += 3 }
            isAtStart = false
        }
        while at < bytes.count {
            let mark = bytes[max(at, searched)...].firstIndex(of: 0x0a)
            searched = mark ?? bytes.count
            guard let end = mark ?? (hasEnded ? bytes.count : nil) else {
                guard isSkipping || bytes.count - at > Self.maxLength else { return nil }
                at = bytes.count
                if isSkipping { return nil }
                isSkipping = true
                return (line + 1, nil)
            }
            let text = bytes[at..<end]
            at = min(end + 1, bytes.count)
            line += 1
            if isSkipping {
                isSkipping = false
                continue
            }
            if text.count > Self.maxLength { return (line, nil) }
            if text.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0d }) { continue }
            return (line, Array(text))
        }
        return nil
    }
}
