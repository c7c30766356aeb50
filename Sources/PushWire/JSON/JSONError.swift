/// Why bytes are not the JSON that is asked for, and at which byte that shows.
package struct JSONError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Code: String, Sendable, CaseIterable {
        case empty = "there is nothing"
        case byteOrderMark = "it begins with a byte order mark, which JSON has not"
        case unexpectedEnd = "it ends too early"
        case trailingBytes = "something follows the value"
        case unexpectedByte = "a value was expected"
        case badLiteral = "it is neither true, false nor null"
        case badNumber = "it is no number as JSON writes them"
        case expectedKey = "a key in quotation marks was expected"
        case expectedColon = "a colon was expected"
        case expectedCommaOrEnd = "a comma or the closing bracket was expected"
        case controlCharacter = "a control character stands in a string and must be escaped"
        case badEscape = "it is no escape that JSON knows"
        case loneSurrogate = "half of a surrogate pair has no other half"
        case badUTF8 = "it is not UTF-8"
        case tooDeep = "it is nested too deeply"
        case tooLong = "it is longer than is read here"
    }

    package let code: Code
    /// From 0; the end of the bytes where something is missing.
    package let offset: Int

    package init(_ code: Code, at offset: Int) {
        self.code = code
        self.offset = offset
    }

    package var description: String { "at byte \(offset): \(code.rawValue)" }

    /// Line and column of a byte, both from 1, for messages about texts that people write. Columns count bytes.
    package static func place(of offset: Int, in bytes: some Collection<UInt8>) -> (line: Int, column: Int) {
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
