/// A reader of the ledger's format. The input may be damaged: past the end the reader returns zeros and sets
/// ``isBroken``.
@safe
package struct ByteReader {
    private let bytes: UnsafeRawBufferPointer
    package private(set) var offset: Int
    /// Whether something was missing or invalid. If so, nothing that was read may be used.
    package private(set) var isBroken = false

    /// Creates a reader of bytes that must outlive it.
    package init(_ bytes: UnsafeRawBufferPointer, at offset: Int = 0) {
        unsafe self.bytes = unsafe bytes
        self.offset = offset
    }

    package var isAtEnd: Bool { unsafe offset >= bytes.count }

    @inline(__always)
    package mutating func byte() -> UInt8 {
        guard unsafe offset < bytes.count else { return fail() }
        defer { offset += 1 }
        return unsafe bytes[offset]
    }

    @inline(__always)
    package mutating func word() -> UInt64 {
        guard unsafe bytes.count - offset >= 8 else { return fail() }
        defer { offset += 8 }
        return unsafe bytes.word(at: offset)
    }

    @inline(__always)
    package mutating func varint() -> UInt64 {
        var result: UInt64 = 0
        var shift: UInt64 = 0
        while shift < 63 {
            guard unsafe offset < bytes.count else { return fail() }
            let byte = unsafe bytes[offset]
            offset += 1
            result |= UInt64(byte & 0x7f) << shift
            if byte < 0x80 { return result }
            shift += 7
        }
        // The tenth byte holds the one remaining bit.
        let last = byte()
        return last <= 1 ? result | UInt64(last) << 63 : fail()
    }

    package mutating func signed() -> Int64 {
        let number = varint()
        return Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1)
    }

    /// Returns the range of a text or blob.
    package mutating func range() -> Range<Int> {
        let count = varint()
        guard unsafe count <= UInt64(bytes.count - offset) else {
            isBroken = true
            offset = unsafe bytes.count
            return 0..<0
        }
        defer { offset += Int(count) }
        return offset..<(offset + Int(count))
    }

    /// Skips as many bytes.
    package mutating func skip(_ count: Int) {
        guard count >= 0, unsafe count <= bytes.count - offset else {
            isBroken = true
            offset = unsafe bytes.count
            return
        }
        offset += count
    }

    package mutating func text() -> String {
        let range = range()
        return unsafe String(decoding: bytes[range], as: UTF8.self)
    }

    package mutating func blob() -> [UInt8] { unsafe [UInt8](bytes[range()]) }

    private mutating func fail<Number: FixedWidthInteger>() -> Number {
        isBroken = true
        offset = unsafe bytes.count
        return 0
    }
}

extension UnsafeRawBufferPointer {
    /// Returns the eight bytes at `offset` as a little-endian word.
    ///
    /// - Important: The caller has checked that the eight bytes exist.
    @inlinable
    package func word(at offset: Int) -> UInt64 {
        unsafe UInt64(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
}
