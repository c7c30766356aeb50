/// The address of one app on one device, as the push service issued it: opaque bytes.
///
/// Tokens of the usual 32 bytes are stored inline, so that a batch of deliveries is contiguous in memory. Longer tokens
/// are valid too, since Apple asks clients not to assume a length. No description or log shows a whole token.
package struct DeviceToken: Hashable, Sendable {
    /// The largest length in bytes. Apple's documentation of the legacy interface allows 100 bytes.
    package static let maxLength = 100

    // The first 32 bytes, big-endian, padded with zeros; `rest` holds the remaining bytes.
    private let word0: UInt64
    private let word1: UInt64
    private let word2: UInt64
    private let word3: UInt64
    private let length: UInt8
    private let rest: [UInt8]?

    /// Creates a token; nil if `bytes` is empty or longer than ``maxLength``.
    package init?(bytes: some Collection<UInt8>) {
        guard (1...Self.maxLength).contains(bytes.count) else { return nil }
        var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        for (index, byte) in bytes.prefix(32).enumerated() {
            let shifted = UInt64(byte) << UInt64(56 - 8 * (index & 7))
            switch index >> 3 {
            case 0: words.0 |= shifted
            case 1: words.1 |= shifted
            case 2: words.2 |= shifted
            default: words.3 |= shifted
            }
        }
        (word0, word1, word2, word3) = words
        length = UInt8(bytes.count)
        rest = bytes.count > 32 ? Array(bytes.dropFirst(32)) : nil
    }

    /// Creates a token from hexadecimal digits in either case; nil for any other text.
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

    /// Creates a token from hexadecimal digits in a buffer, with a fast path for the usual 64 digits.
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

    /// Creates a token from four words, for load tools and tests whose tokens are numbers.
    package init(words: (UInt64, UInt64, UInt64, UInt64)) {
        (word0, word1, word2, word3) = words
        length = 32
        rest = nil
    }

    package var byteCount: Int { Int(length) }
    package var hexLength: Int { 2 * Int(length) }

    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(byteCount)
        append(to: &bytes)
        return bytes
    }

    /// Appends the bytes of the token.
    package func append(to bytes: inout [UInt8]) {
        let start = bytes.count
        Self.append(word0, to: &bytes)
        Self.append(word1, to: &bytes)
        Self.append(word2, to: &bytes)
        Self.append(word3, to: &bytes)
        bytes.removeLast(max(0, bytes.count - start - byteCount))
        if let rest { bytes += rest }
    }

    private static func append(_ word: UInt64, to bytes: inout [UInt8]) {
        unsafe withUnsafeBytes(of: word.bigEndian) { unsafe bytes.append(contentsOf: $0) }
    }

    package func hash(into hash: inout SipHash) {
        hash.add(word0)
        hash.add(word1)
        hash.add(word2)
        hash.add(word3)
        if let rest { hash.add(rest) }
        hash.add(UInt64(length))
    }

    /// A hash for tables that live as long as one request.
    package func tableHash(seed: UInt64) -> UInt64 {
        var hash = TableHash.of(high: word0, low: word1, seed: seed)
        hash ^= TableHash.of(high: word2 ^ hash, low: word3, seed: seed)
        if let rest {
            for byte in rest { hash = TableHash.of(high: hash, low: UInt64(byte), seed: seed) }
        }
        return hash
    }

    /// Writes the token in lower-case digits and returns their number, ``hexLength``.
    ///
    /// - Important: `text` must have room for ``hexLength`` bytes and for at least 64.
    package func writeHex(into text: UnsafeMutableRawPointer) -> Int {
        unsafe HexDigits.write(word0, into: text)
        unsafe HexDigits.write(word1, into: text + 16)
        unsafe HexDigits.write(word2, into: text + 32)
        unsafe HexDigits.write(word3, into: text + 48)
        if let rest {
            var end = unsafe text + 64
            for byte in rest {
                let digits = HexDigits.of(UInt32(byte))
                unsafe end.storeBytes(of: UInt8(truncatingIfNeeded: digits >> 8), as: UInt8.self)
                unsafe (end + 1).storeBytes(of: UInt8(truncatingIfNeeded: digits), as: UInt8.self)
                unsafe end += 2
            }
        }
        return hexLength
    }

    /// The whole token in lower-case digits, for the wire and the registry only. Never show it to people.
    package var hex: String {
        unsafe withUnsafeTemporaryAllocation(byteCount: max(64, hexLength), alignment: 8) { text in
            let count = unsafe writeHex(into: text.baseAddress!)
            return unsafe String(decoding: text.prefix(count), as: UTF8.self)
        }
    }
}

extension DeviceToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The first six digits: enough to tell two tokens apart in a table, too few to send to.
    package var description: String { "\(hex.prefix(6))…" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection(), displayStyle: .struct) }
}
