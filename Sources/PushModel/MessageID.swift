/// What a producer calls its message: 1 to 128 bytes of UTF-8 without control characters.
package struct MessageID: Hashable, Sendable, CustomStringConvertible {
    package let text: String

    package init?(_ text: String) {
        guard (1...128).contains(text.utf8.count), text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f }) else {
            return nil
        }
        self.text = text
    }

    /// The same from UTF-8 that has been checked.
    package init?(utf8 bytes: UnsafeRawBufferPointer) {
        guard (1...128).contains(bytes.count) else { return nil }
        var hasControls = false
        unsafe bytes.forEach { hasControls = hasControls || $0 < 0x20 || $0 == 0x7f }
        guard !hasControls else { return nil }
        text = unsafe String(decoding: bytes, as: UTF8.self)
    }

    package var description: String { text }
}
