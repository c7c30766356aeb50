/// The address of one app on one device, as the push service gave it out: opaque bytes.
///
/// Tokens of the usual 32 bytes lie in the value itself, so that a batch of deliveries is one run of memory. Longer
/// ones are as good, Apple asks not to assume a length. Nothing prints a whole token.
package struct DeviceToken: Hashable, Sendable {
    /// Apple's old documentation says 100; twice that is no token.
    package static let maximumLength = 100

    // The first 32 bytes, big-endian, zero where the token is shorter; `rest` holds what is past them.
    private let word0: UInt64
    private let word1: UInt64
    private let word2: UInt64
    private let word3: UInt64
    private let length: UInt8
    private let rest: [UInt8]?

    /// Nil when there are none or more than `maximumLength`.
    package init?(bytes: some Collection<UInt8>) {
        guard (1...Self.maximumLength).contains(bytes.count) else { return nil }
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

    /// Hexadecimal in either case. Nil for anything else.
    package init?(hex: some StringProtocol) {
        let digits = hex.utf8
        guard digits.count.isMultiple(of: 2), digits.count <= 2 * Self.maximumLength else { return nil }
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

    /// The same from bytes as they came, and quick for the usual 64 digits.
    package init?(hexBytes digits: UnsafeRawBufferPointer) {
        guard digits.count == 64, let start = digits.baseAddress else {
            guard digits.count <= 2 * Self.maximumLength, unsafe digits.allSatisfy({ HexDigits.value(of: $0) != nil })
            else { return nil }
            self.init(hex: unsafe String(decoding: digits, as: UTF8.self))
            return
        }
        guard let word0 = unsafe HexDigits.word(at: start), let word1 = unsafe HexDigits.word(at: start + 16),
            let word2 = unsafe HexDigits.word(at: start + 32), let word3 = unsafe HexDigits.word(at: start + 48)
        else { return nil }
        self.init(words: (word0, word1, word2, word3))
    }

    /// From four words, for tokens that are numbers: load tools and tests.
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

    /// Adds the token to what is on its way to a wire or a file.
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
        var shift: UInt64 = 64
        while shift > 0 {
            shift -= 8
            bytes.append(UInt8(truncatingIfNeeded: word >> shift))
        }
    }

    package func hash(into hash: inout SipHash) {
        hash.add(word0)
        hash.add(word1)
        hash.add(word2)
        hash.add(word3)
        if let rest { hash.add(rest) }
        hash.add(UInt64(length))
    }

    /// For tables that live as long as a request: quick, and nothing that a producer can aim at as long as the seed is
    /// not known.
    package func tableHash(seed: UInt64) -> UInt64 {
        var hash = Self.folded(word0 ^ seed, word1 ^ 0x9e37_79b9_7f4a_7c15)
        hash ^= Self.folded(word2 ^ hash, word3 ^ seed)
        if let rest {
            for byte in rest { hash = Self.folded(hash ^ UInt64(byte), 0x9e37_79b9_7f4a_7c15 ^ seed) }
        }
        return hash
    }

    @inline(__always)
    private static func folded(_ one: UInt64, _ other: UInt64) -> UInt64 {
        let product = one.multipliedFullWidth(by: other)
        return product.high ^ product.low
    }

    /// Writes the token in lower-case digits and returns how many: `hexLength`.
    ///
    /// - Important: `text` has room for `hexLength` bytes, and for 64 in any case.
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

    /// All of it. For the wire and the registry, never for people.
    package var hex: String {
        unsafe withUnsafeTemporaryAllocation(byteCount: max(64, hexLength), alignment: 8) { text in
            let count = unsafe writeHex(into: text.baseAddress!)
            return unsafe String(decoding: text.prefix(count), as: UTF8.self)
        }
    }
}

extension DeviceToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Enough to tell two apart in a table, too little to send to.
    package var description: String { "\(hex.prefix(6))…" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection(), displayStyle: .struct) }
}
