import CSimdJSON

/// The lines of one frame. The newline after the last one is optional.
enum JSONLines {
    /// Returns the number of lines; counting stops at `limit` + 1.
    static func count(_ lines: ByteView, limit: Int) -> Int {
        var count = 0
        var start = 0
        while start < lines.count, count <= limit {
            start = end(in: lines, from: start) + 1
            count += 1
        }
        return count
    }

    /// Returns the end of the line that begins at `start`, without its newline.
    static func end(in lines: ByteView, from start: Int) -> Int {
        unsafe CSimdJSON_line_end(lines.bytes.baseAddress, start, lines.count)
    }

    /// Whether a text has more than `count` quotation marks.
    static func hasMoreQuotes(_ text: ByteView, than count: Int) -> Bool {
        unsafe CSimdJSON_has_more_quotes(text.bytes.baseAddress, text.count, count) != 0
    }
}
