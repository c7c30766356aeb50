private import CSHA1

extension DeliveryID {
    /// Returns the id of one message for one device. Anyone can compute it: it is the UUIDv5, in the URL namespace, of
    /// `carillon:/APP/MESSAGE-ID/TOKEN-HEX-LOWERCASE`.
    package static func derived(app: AppID, message: MessageID, token: Address) -> DeliveryID {
        var app = app.name
        var message = message.text
        let (start, slash): (StaticString, UInt8) = ("carillon:/", UInt8(ascii: "/"))
        let length =
            namespace.count + start.utf8CodeUnitCount + app.utf8.count + message.utf8.count + 2 + token.hexLength
        // A token is written in runs of at least 64 digits.
        let (first, second) = unsafe withUnsafeTemporaryAllocation(byteCount: length + 64, alignment: 8) { text in
            var end = unsafe namespace.withUnsafeBytes { unsafe copy($0, to: text, at: 0) }
            end = unsafe copy(
                UnsafeRawBufferPointer(start: start.utf8Start, count: start.utf8CodeUnitCount), to: text, at: end)
            end = app.withUTF8 { unsafe copy(UnsafeRawBufferPointer($0), to: text, at: end) }
            unsafe text[end] = slash
            end = message.withUTF8 { unsafe copy(UnsafeRawBufferPointer($0), to: text, at: end + 1) }
            unsafe text[end] = slash
            end += 1
            end += unsafe token.writeHex(into: text.baseAddress! + end)
            return unsafe hash(UnsafeRawBufferPointer(rebasing: text[..<end]))
        }
        return DeliveryID(
            high: first & 0xffff_ffff_ffff_0fff | 0x5000, low: second & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000)
    }

    /// Returns the first 16 bytes of the SHA-1 digest of a text.
    private static func hash(_ text: UnsafeRawBufferPointer) -> (UInt64, UInt64) {
        unsafe withUnsafeTemporaryAllocation(byteCount: 20, alignment: 8) { digest in
            unsafe CSHA1_hash(text.baseAddress, text.count, digest.assumingMemoryBound(to: UInt8.self).baseAddress)
            return unsafe (
                UInt64(bigEndian: digest.load(as: UInt64.self)),
                UInt64(bigEndian: digest.load(fromByteOffset: 8, as: UInt64.self))
            )
        }
    }

    /// Copies bytes to an offset of a text. Returns the offset after them.
    private static func copy(
        _ bytes: UnsafeRawBufferPointer, to text: UnsafeMutableRawBufferPointer, at offset: Int
    ) -> Int {
        unsafe UnsafeMutableRawBufferPointer(rebasing: text[offset...]).copyMemory(from: bytes)
        return offset + bytes.count
    }

    /// The URL namespace of RFC 4122, appendix C.
    private static let namespace: [UInt8] = [
        0x6b, 0xa7, 0xb8, 0x11, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8,
    ]
}
