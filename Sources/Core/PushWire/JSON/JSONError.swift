/// Why bytes are not valid JSON, and the offset at which that was detected.
package struct JSONError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Code: String, Sendable, CaseIterable {
        case empty = "the text is empty"
        case byteOrderMark = "JSON must not begin with a byte order mark"
        case unexpectedEnd = "the text ends too early"
        case trailingBytes = "unexpected text follows the value"
        case unexpectedByte = "a value was expected"
        case badLiteral = "invalid word; only true, false and null are allowed"
        case badNumber = "invalid number"
        case expectedKey = "a key in quotation marks was expected"
        case expectedColon = "a colon was expected"
        case expectedCommaOrEnd = "a comma or the closing bracket was expected"
        case controlCharacter = "a control character in a string must be escaped"
        case badEscape = "invalid escape sequence"
        case loneSurrogate = "unpaired surrogate in an escape sequence"
        case badUTF8 = "invalid UTF-8"
        case tooDeep = "the text is nested too deeply"
        case tooLong = "the text is too long"
    }

    package let code: Code
    /// The offset from 0; the end of the text if something is missing there.
    package let offset: Int

    package init(_ code: Code, at offset: Int) {
        self.code = code
        self.offset = offset
    }

    package var description: String { "at byte \(offset): \(code.rawValue)" }

    /// Returns the line and column of a byte, both from 1, for messages about texts that people write. Columns count
    /// bytes.
    package static func position(of offset: Int, in bytes: some Collection<UInt8>) -> (line: Int, column: Int) {
        var (line, column) = (1, 1)
        for byte in bytes.prefix(offset) {
            if byte == UInt8(ascii: "\n") {
                line += 1
                column = 1
            } else {
                column += 1
            }
        }
        return (line, column)
    }
}
