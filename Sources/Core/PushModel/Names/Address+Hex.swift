/// The bytes of an address as hexadecimal digits.
extension Address {
    /// Creates an address from hexadecimal digits in either case; nil for any other text.
    package init?(hex: some StringProtocol) {
        let digits = hex.utf8
        guard digits.count.isMultiple(of: 2), digits.count <= 2 * Self.maxLength else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 2)
        var high: UInt8?
        for digit in digits {
            guard let value = HexDigits.value(of: digit) else { return nil }
            if let first = high {
                bytes.append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        self.init(bytes: bytes)
    }

    /// Creates an address from hexadecimal digits in a buffer, with a fast path for the usual 64 digits.
    package init?(hexBytes digits: UnsafeRawBufferPointer) {
        guard digits.count == 64, let start = digits.baseAddress else {
            guard digits.count <= 2 * Self.maxLength, unsafe digits.allSatisfy({ HexDigits.value(of: $0) != nil })
            else { return nil }
            self.init(hex: unsafe String(decoding: digits, as: UTF8.self))
            return
        }
        guard let word0 = unsafe HexDigits.word(at: start), let word1 = unsafe HexDigits.word(at: start + 16),
            let word2 = unsafe HexDigits.word(at: start + 32), let word3 = unsafe HexDigits.word(at: start + 48)
        else { return nil }
        self.init(words: (word0, word1, word2, word3))
    }

    package var hexLength: Int { 2 * byteCount }

    /// Writes the bytes in lower-case digits and returns their number, ``hexLength``.
    ///
    /// - Important: `text` must have room for ``hexLength`` bytes and for at least 64.
    package func writeHex(into text: UnsafeMutableRawPointer) -> Int {
        unsafe HexDigits.write(word0, into: text)
        unsafe HexDigits.write(word1, into: text + 16)
        unsafe HexDigits.write(word2, into: text + 32)
        unsafe HexDigits.write(word3, into: text + 48)
        if let rest { unsafe rest.withUnsafeBytes { unsafe Self.writeHex($0, into: text + 64) } }
        return hexLength
    }

    private static func writeHex(_ bytes: UnsafeRawBufferPointer, into text: UnsafeMutableRawPointer) {
        let whole = bytes.count & ~7
        for offset in stride(from: 0, to: whole, by: 8) {
            let word = unsafe UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            unsafe HexDigits.write(word, into: text + 2 * offset)
        }
        for offset in whole..<bytes.count {
            let digits = unsafe HexDigits.of(UInt32(bytes[offset]))
            unsafe (text + 2 * offset).storeBytes(of: UInt8(truncatingIfNeeded: digits >> 8), as: UInt8.self)
            unsafe (text + 2 * offset + 1).storeBytes(of: UInt8(truncatingIfNeeded: digits), as: UInt8.self)
        }
    }

    /// The whole address in lower-case digits, for the wire and the registry only. Never show it to people.
    package var hex: String {
        unsafe withUnsafeTemporaryAllocation(byteCount: max(64, hexLength), alignment: 8) { text in
            let count = unsafe writeHex(into: text.baseAddress!)
            return unsafe String(decoding: text.prefix(count), as: UTF8.self)
        }
    }
}
