/// A reader of structured fields (RFC 8941), as far as HTTP Message Signatures need them. It reads at its position and
/// returns nil at the first byte that breaks a rule; nothing that was read may be used then.
@safe
struct StructuredFieldReader {
    let bytes: ByteView
    private(set) var offset = 0

    init(_ bytes: ByteView) {
        self.bytes = bytes
    }

    var isAtEnd: Bool { offset >= bytes.count }

    /// The byte at the position, or zero at the end. A zero is not allowed anywhere, so that no caller mistakes it.
    @inline(__always)
    private var next: UInt8 { offset < bytes.count ? bytes[offset] : 0 }

    mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte, byte != 0 else { return false }
        offset += 1
        return true
    }

    mutating func skipSpaces() {
        while next == UInt8(ascii: " ") { offset += 1 }
    }

    private mutating func skipOptionalSpace() {
        while next == UInt8(ascii: " ") || next == UInt8(ascii: "\t") { offset += 1 }
    }

    // MARK: Dictionaries

    /// Moves to the next member of a dictionary. Returns false at the end of the field, and nil if the field is
    /// malformed, for example by a comma at its end.
    mutating func beginMember(isFirst: Bool) -> Bool? {
        if isFirst {
            skipSpaces()
            return !isAtEnd
        }
        skipOptionalSpace()
        if isAtEnd { return false }
        guard take(UInt8(ascii: ",")) else { return nil }
        skipOptionalSpace()
        return isAtEnd ? nil : true
    }

    /// Reads a key: `lcalpha` or `*`, then also digits, `_`, `-` and `.`.
    mutating func key() -> ByteView? {
        let start = offset
        guard isLowercase(next) || next == UInt8(ascii: "*") else { return nil }
        while isKeyByte(next) { offset += 1 }
        return bytes[start..<offset]
    }

    private func isLowercase(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }

    private func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private func isKeyByte(_ byte: UInt8) -> Bool {
        isLowercase(byte) || isDigit(byte) || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
            || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "*")
    }

    // MARK: Items

    /// Reads a string and returns its bytes between the quotation marks. A string with an escape is malformed for
    /// signatures: no value that they need has a quotation mark or a backslash.
    mutating func plainString() -> ByteView? {
        guard take(UInt8(ascii: "\"")) else { return nil }
        let start = offset
        while (0x20...0x7e).contains(next), next != UInt8(ascii: "\""), next != UInt8(ascii: "\\") { offset += 1 }
        let end = offset
        return take(UInt8(ascii: "\"")) ? bytes[start..<end] : nil
    }

    /// Reads an integer of at most 15 digits.
    mutating func integer() -> Int64? {
        let isNegative = take(UInt8(ascii: "-"))
        var value: Int64 = 0
        var digits = 0
        while isDigit(next) {
            guard digits < 15 else { return nil }
            value = value * 10 + Int64(next - UInt8(ascii: "0"))
            digits += 1
            offset += 1
        }
        // A decimal is not an integer.
        guard digits > 0, next != UInt8(ascii: ".") else { return nil }
        return isNegative ? 0 - value : value
    }

    /// Reads a byte sequence and returns its Base64 text between the colons.
    mutating func byteSequence() -> ByteView? {
        guard take(UInt8(ascii: ":")) else { return nil }
        let start = offset
        while isBase64(next) { offset += 1 }
        let end = offset
        return take(UInt8(ascii: ":")) ? bytes[start..<end] : nil
    }

    private func isBase64(_ byte: UInt8) -> Bool {
        isLowercase(byte | 0x20) && byte >= 0x41 || isDigit(byte) || byte == UInt8(ascii: "+")
            || byte == UInt8(ascii: "/") || byte == UInt8(ascii: "=")
    }

    // MARK: Skipping

    /// Skips the value of a member with another label: `=` and an item or an inner list, and parameters. Returns false
    /// if it is malformed.
    mutating func skipMemberValue() -> Bool {
        guard take(UInt8(ascii: "=")) else { return skipParameters() }
        if next == UInt8(ascii: "(") { return skipInnerList() && skipParameters() }
        return skipItem() && skipParameters()
    }

    private mutating func skipInnerList() -> Bool {
        guard take(UInt8(ascii: "(")) else { return false }
        while true {
            skipSpaces()
            if take(UInt8(ascii: ")")) { return true }
            guard skipItem(), skipParameters(), next == UInt8(ascii: " ") || next == UInt8(ascii: ")") else {
                return false
            }
        }
    }

    mutating func skipParameters() -> Bool {
        while take(UInt8(ascii: ";")) {
            skipSpaces()
            guard key() != nil else { return false }
            if take(UInt8(ascii: "=")), !skipItem() { return false }
        }
        return true
    }

    /// Skips a string, a byte sequence, a boolean, a number, a date or a token.
    mutating func skipItem() -> Bool {
        switch next {
        case UInt8(ascii: "\""): return skipString()
        case UInt8(ascii: ":"): return byteSequence() != nil
        case UInt8(ascii: "?"):
            offset += 1
            return take(UInt8(ascii: "0")) || take(UInt8(ascii: "1"))
        case UInt8(ascii: "@"):
            offset += 1
            return integer() != nil
        case let byte where isDigit(byte) || byte == UInt8(ascii: "-"): return skipNumber()
        case let byte where isLowercase(byte | 0x20) && byte >= 0x41 || byte == UInt8(ascii: "*"):
            while isTokenByte(next) { offset += 1 }
            return true
        default: return false
        }
    }

    private mutating func skipString() -> Bool {
        guard take(UInt8(ascii: "\"")) else { return false }
        while (0x20...0x7e).contains(next) {
            if take(UInt8(ascii: "\"")) { return true }
            if take(UInt8(ascii: "\\")), next != UInt8(ascii: "\""), next != UInt8(ascii: "\\") { return false }
            offset += 1
        }
        return false
    }

    private mutating func skipNumber() -> Bool {
        _ = take(UInt8(ascii: "-"))
        let start = offset
        while isDigit(next) { offset += 1 }
        guard (1...15).contains(offset - start) else { return false }
        guard take(UInt8(ascii: ".")) else { return true }
        let fraction = offset
        while isDigit(next) { offset += 1 }
        return (1...3).contains(offset - fraction) && fraction - 1 - start <= 12
    }

    private func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "!"), UInt8(ascii: "#")...UInt8(ascii: "'"),
            UInt8(ascii: "*")...UInt8(ascii: "+"), UInt8(ascii: "-")...UInt8(ascii: "."),
            UInt8(ascii: "^")...UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"), UInt8(ascii: ":"),
            UInt8(ascii: "/"):
            true
        default: false
        }
    }
}
