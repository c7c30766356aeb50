/// The URL-safe Base64 encoding without padding (RFC 4648, section 5) that JSON Web Tokens use.
package enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 0xFF, count: 256)
        for (value, digit) in alphabet.enumerated() {
            values[Int(digit)] = UInt8(value)
        }
        return values
    }()

    package static func encode(_ bytes: [UInt8]) -> String {
        let length = (bytes.count * 8 + 5) / 6
        return unsafe String(unsafeUninitializedCapacity: length) { target in
            var gathered: UInt32 = 0
            var bits = 0
            var position = 0
            for byte in bytes {
                gathered = gathered << 8 | UInt32(byte)
                bits += 8
                while bits >= 6 {
                    bits -= 6
                    unsafe target[position] = alphabet[Int(gathered >> UInt32(bits)) & 63]
                    position += 1
                }
            }
            if bits > 0 {
                unsafe target[position] = alphabet[Int(gathered << UInt32(6 - bits)) & 63]
            }
            return length
        }
    }

    package static func encode(_ text: String) -> String {
        encode(Array(text.utf8))
    }

    /// Decodes strictly. Returns nil for padding, for characters of the standard alphabet, for white space, and for
    /// nonzero bits after the last byte, so that no two texts decode to the same bytes.
    package static func decode(_ text: String) -> [UInt8]? {
        let utf8 = text.utf8
        guard utf8.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(utf8.count * 6 / 8)
        var gathered: UInt32 = 0
        var bits = 0
        for digit in utf8 {
            let value = values[Int(digit)]
            guard value != 0xFF else { return nil }
            gathered = gathered << 6 | UInt32(value)
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: gathered >> UInt32(bits)))
            }
        }
        guard gathered & (1 << UInt32(bits) - 1) == 0 else { return nil }
        return bytes
    }
}
