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
    /// The length of the part that names the device; 0 if all of it does.
    private let identityLength: UInt16
    let rest: [UInt8]?

    /// Creates an address; nil if `bytes` is empty or longer than ``maxLength``.
    package init?(bytes: some Collection<UInt8>) {
        self.init(Array(bytes), identityLength: 0)
    }

    /// Creates an address; nil if `bytes` is empty or longer than ``maxLength``.
    ///
    /// - Parameter count: The number of bytes that alone name the device; 0 if all of them do.
    init?(copying bytes: UnsafeRawBufferPointer, identifiedByFirst count: Int) {
        guard (1...Self.maxLength).contains(bytes.count), (0...bytes.count).contains(count) else { return nil }
        let words = unsafe withUnsafeTemporaryAllocation(byteCount: 32, alignment: 8) { first in
            unsafe first.initializeMemory(as: UInt8.self, repeating: 0)
            unsafe first.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes.prefix(32)))
            let word = { unsafe UInt64(bigEndian: first.load(fromByteOffset: 8 * $0, as: UInt64.self)) }
            return (word(0), word(1), word(2), word(3))
        }
        (word0, word1, word2, word3) = words
        length = UInt16(bytes.count)
        identityLength = count == bytes.count ? 0 : UInt16(count)
        rest = unsafe bytes.count > 32 ? Array(bytes[32...]) : nil
    }

    /// Creates an address whose first bytes alone name the device. All addresses that begin with the same identity are
    /// those of one device. Nil if `bytes` or the identity is empty, or longer than it may be.
    package init?(bytes: some Collection<UInt8>, identifiedByFirst count: Int) {
        guard count >= 1, count <= bytes.count else { return nil }
        self.init(Array(bytes), identityLength: count == bytes.count ? 0 : count)
    }

    // Not generic: it is not specialized for other modules, and each byte would then cost look-ups of types.
    private init?(_ bytes: [UInt8], identityLength: Int) {
        let address = unsafe bytes.withUnsafeBytes { unsafe Address(copying: $0, identifiedByFirst: identityLength) }
        guard let address else { return nil }
        self = address
    }

    /// Creates an address of 32 bytes from four words.
    package init(words: (UInt64, UInt64, UInt64, UInt64)) {
        (word0, word1, word2, word3) = words
        length = 32
        identityLength = 0
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
        let words = (word0.bigEndian, word1.bigEndian, word2.bigEndian, word3.bigEndian)
        unsafe withUnsafeBytes(of: words) {
            unsafe bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: $0.prefix(byteCount)))
        }
        if let rest { bytes += rest }
    }

    /// The address whose bytes are those that name the device.
    package var identity: Address {
        if identityLength == 0 { return self }
        return Address(bytes: bytes.prefix(Int(identityLength))) ?? self
    }

    /// The length of the identity; nil if the whole address names the device.
    package var identityByteCount: Int? { identityLength == 0 ? nil : Int(identityLength) }

    /// Adds the identity: addresses of the same device have the same hash.
    package func hash(into hash: inout SipHash) {
        if identityLength != 0 { return identity.hash(into: &hash) }
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
