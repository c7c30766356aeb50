/// Unicode's control characters in UTF-8 that is valid: C0 (U+0000 to U+001F) and DEL are bytes of their own, C1 (U+0080
/// to U+009F, of which terminals take some for the begin of a command) is 0xC2 and a byte below 0xA0.
package enum ControlCharacters {
    package static func occur(in bytes: some Sequence<UInt8>) -> Bool {
        var last: UInt8 = 0
        for byte in bytes {
            if byte < 0x20 || byte == 0x7f || last == 0xc2 && byte < 0xa0 { return true }
            last = byte
        }
        return false
    }
}
