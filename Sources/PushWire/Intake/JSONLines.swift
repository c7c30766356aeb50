import CSimdJSON

/// The lines of one frame. The newline after the last one is optional.
enum JSONLines {
    /// Returns the number of lines; counting stops at `limit` + 1.
    static func count(_ lines: UnsafeRawBufferPointer, limit: Int) -> Int {
        var count = 0
        var start = 0
        while start < lines.count, count <= limit {
            start = end(in: lines, from: start) + 1
            count += 1
        }
        return count
    }

    /// Returns the end of the line that begins at `start`, without its newline.
    static func end(in lines: UnsafeRawBufferPointer, from start: Int) -> Int {
        CSimdJSON_line_end(lines.baseAddress, start, lines.count)
    }

    static func hasMoreQuotes(_ text: UnsafeRawBufferPointer, than most: Int) -> Bool {
        CSimdJSON_has_more_quotes(text.baseAddress, text.count, most) != 0
    }
}
