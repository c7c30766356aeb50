import CSimdJSON

/// Lines in one frame. The newline behind the last may be there or not.
enum JSONLines {
    /// How many; stops at one more than `limit`.
    static func count(_ lines: UnsafeRawBufferPointer, limit: Int) -> Int {
        var count = 0
        var start = 0
        while start < lines.count, count <= limit {
            start = end(in: lines, from: start) + 1
            count += 1
        }
        return count
    }

    /// Where the line that begins at `start` ends, its newline not counted.
    static func end(in lines: UnsafeRawBufferPointer, from start: Int) -> Int {
        CSimdJSON_line_end(lines.baseAddress, start, lines.count)
    }

    static func quotes(in text: UnsafeRawBufferPointer) -> Int {
        CSimdJSON_count_quotes(text.baseAddress, text.count)
    }
}
