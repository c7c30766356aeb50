/// The body of FCM's answer to an accepted message, in the only form that FCM gives it: an object with nothing but a name.
///
///     {"name": "projects/P/messages/ID"}
enum AcceptedAnswer {
    private static let key: StaticString = "\"name\""

    /// Returns the characters of the name, which lie in the body. Nil if the body has another form, or if the name has
    /// anything but printable ASCII or an escape: a parser of JSON reads these.
    static func name(in body: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        var at = 0
        guard body.count <= FCMAnswer.maxLength, unsafe take(UInt8(ascii: "{"), in: body, &at) else { return nil }
        unsafe skipSpace(in: body, &at)
        let length = key.utf8CodeUnitCount
        guard body.count - at > length,
            key.withUTF8Buffer({ unsafe $0.elementsEqual(body[at..<at + length]) })
        else { return nil }
        at += length
        guard unsafe take(UInt8(ascii: ":"), in: body, &at), unsafe take(UInt8(ascii: "\""), in: body, &at)
        else { return nil }
        let start = at
        while at < body.count, unsafe isPlain(body[at]) { at += 1 }
        let end = at
        guard unsafe take(UInt8(ascii: "\""), in: body, &at), end == at - 1,
            unsafe take(UInt8(ascii: "}"), in: body, &at)
        else { return nil }
        unsafe skipSpace(in: body, &at)
        return at == body.count ? unsafe UnsafeRawBufferPointer(rebasing: body[start..<end]) : nil
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        (0x21..<0x7f).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }

    private static func take(_ byte: UInt8, in body: UnsafeRawBufferPointer, _ at: inout Int) -> Bool {
        unsafe skipSpace(in: body, &at)
        guard at < body.count, unsafe body[at] == byte else { return false }
        at += 1
        return true
    }

    private static func skipSpace(in body: UnsafeRawBufferPointer, _ at: inout Int) {
        while at < body.count {
            switch unsafe body[at] {
            case 0x20, 0x09, 0x0a, 0x0d: at += 1
            default: return
            }
        }
    }
}
