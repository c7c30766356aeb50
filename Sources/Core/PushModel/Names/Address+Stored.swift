/// The bytes of an address in files, databases and records.
///
/// An address that names its device as a whole is stored as it is. If only its first bytes do, a mark and the length of
/// the identity precede it: what reads a file does not know the push service, and the device must stay the same.
extension Address {
    /// No bytes of a push service are expected to begin so. Those that do have the mark, too, with the length 0.
    private static let mark: UInt64 = 0xffc0_6964_656e_7400
    private static let markLength = 8 + 2

    /// The largest length in bytes of a stored address.
    package static let maxStoredLength = maxLength + markLength

    package var storedByteCount: Int { isMarked ? byteCount + Self.markLength : byteCount }

    private var isMarked: Bool { identityByteCount != nil || (byteCount >= 8 && word0 == Self.mark) }

    package var storedBytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(storedByteCount)
        appendStored(to: &bytes)
        return bytes
    }

    /// Appends the stored form.
    package func appendStored(to bytes: inout [UInt8]) {
        if isMarked {
            for shift in stride(from: 56, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: Self.mark >> UInt64(shift)))
            }
            let count = UInt16(truncatingIfNeeded: identityByteCount ?? 0)
            bytes.append(UInt8(truncatingIfNeeded: count >> 8))
            bytes.append(UInt8(truncatingIfNeeded: count))
        }
        append(to: &bytes)
    }

    /// Reads the stored form of 32 bytes, as four words.
    package init?(storedWords words: (UInt64, UInt64, UInt64, UInt64)) {
        let address = Address(words: words)
        guard words.0 == Self.mark else {
            self = address
            return
        }
        self.init(storedBytes: address.bytes)
    }

    /// Reads the stored form. Nil if the bytes are not one.
    package init?(storedBytes bytes: [UInt8]) {
        guard let address = unsafe bytes.withUnsafeBytes({ unsafe Address(stored: $0) }) else { return nil }
        self = address
    }

    /// Reads the stored form. Nil if the bytes are not one.
    package init?(stored bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= 8, unsafe UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)) == Self.mark else {
            unsafe self.init(copying: bytes, identifiedByFirst: 0)
            return
        }
        guard bytes.count >= Self.markLength else { return nil }
        let count = unsafe UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt16.self))
        unsafe self.init(
            copying: UnsafeRawBufferPointer(rebasing: bytes[Self.markLength...]), identifiedByFirst: Int(count))
    }
}
