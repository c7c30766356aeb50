/// Unicode's control characters in valid UTF-8. C0 (U+0000 to U+001F) and DEL are single bytes. C1 (U+0080 to U+009F,
/// some of which start commands in terminals) is 0xC2 followed by a byte below 0xA0.
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
