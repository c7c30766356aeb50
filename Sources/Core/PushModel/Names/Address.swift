/// The address of one app on one device, as its push service issued it: opaque bytes. What they mean, and their form as
/// text, belongs to the service.
///
/// Up to 32 bytes are stored inline, as the tokens of APNs are, so that a batch of deliveries is contiguous in memory.
/// No description or log shows a whole address.
package struct Address: Hashable, Sendable {
    /// The largest length in bytes.
    package static let maxLength = 2048

    // The first 32 bytes, big-endian, padded with zeros; `rest` holds the remaining bytes.
    let word0: UInt64
    let word1: UInt64
    let word2: UInt64
    let word3: UInt64
    private let length: UInt16
    let rest: [UInt8]?

    /// Creates an address; nil if `bytes` is empty or longer than ``maxLength``.
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
        length = UInt16(bytes.count)
        rest = bytes.count > 32 ? Array(bytes.dropFirst(32)) : nil
    }

    /// Creates an address of 32 bytes from four words.
    package init(words: (UInt64, UInt64, UInt64, UInt64)) {
        (word0, word1, word2, word3) = words
        length = 32
        rest = nil
    }

    package var byteCount: Int { Int(length) }

    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(byteCount)
        append(to: &bytes)
        return bytes
    }

    /// Appends the bytes.
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
}

extension Address: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The first six digits: enough to tell two addresses apart in a table, too few to send to.
    package var description: String { "\(hex.prefix(6))…" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection(), displayStyle: .struct) }
}
