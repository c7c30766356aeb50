/// Encoding of numbers and texts in the ledger's format: little-endian words, and varints of seven bits per byte.
extension [UInt8] {
    @inline(__always)
    package mutating func appendWord(_ word: UInt64) {
        Swift.withUnsafeBytes(of: word.littleEndian) { append(contentsOf: $0) }
    }

    @inline(__always)
    package mutating func appendVarint(_ number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(truncatingIfNeeded: rest))
    }

    /// Appends a number in zigzag encoding, so that small numbers of either sign are short.
    package mutating func appendSigned(_ number: Int64) {
        appendVarint(UInt64(bitPattern: number << 1 ^ number >> 63))
    }

    /// Appends the bytes without a length.
    mutating func append(_ word: StaticString) {
        append(contentsOf: UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
    }

    package mutating func appendText(_ text: String) {
        var text = text
        text.withUTF8 {
            appendVarint(UInt64($0.count))
            append(contentsOf: $0)
        }
    }

    package mutating func appendBytes(_ bytes: [UInt8]) {
        appendVarint(UInt64(bytes.count))
        append(contentsOf: bytes)
    }
}

extension UnsafeRawBufferPointer {
    /// Returns the eight bytes at `offset` as a little-endian word.
    ///
    /// - Important: The caller has checked that the eight bytes exist.
    @inlinable
    package func word(at offset: Int) -> UInt64 {
        UInt64(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
}

/// Reads the ledger's format. The input may be damaged: past the end the reader returns zeros and sets ``isBroken``.
package struct ByteReader {
    private let bytes: UnsafeRawBufferPointer
    package private(set) var at: Int
    /// Whether something was missing or invalid. If so, nothing that was read may be used.
    package private(set) var isBroken = false

    /// Creates a reader of bytes that must outlive it.
    package init(_ bytes: UnsafeRawBufferPointer, at start: Int = 0) {
        self.bytes = bytes
        at = start
    }

    package var isAtEnd: Bool { at >= bytes.count }

    @inline(__always)
    package mutating func byte() -> UInt8 {
        guard at < bytes.count else { return fail() }
        defer { at += 1 }
        return bytes[at]
    }

    @inline(__always)
    package mutating func word() -> UInt64 {
        guard bytes.count - at >= 8 else { return fail() }
        defer { at += 8 }
        return bytes.word(at: at)
    }

    @inline(__always)
    package mutating func varint() -> UInt64 {
        var result: UInt64 = 0
        var shift: UInt64 = 0
        while shift < 63 {
            guard at < bytes.count else { return fail() }
            let byte = bytes[at]
            at += 1
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
        guard count <= UInt64(bytes.count - at) else {
            isBroken = true
            at = bytes.count
            return 0..<0
        }
        defer { at += Int(count) }
        return at..<(at + Int(count))
    }

    package mutating func text() -> String {
        let range = range()
        return String(decoding: bytes[range], as: UTF8.self)
    }

    package mutating func blob() -> [UInt8] { [UInt8](bytes[range()]) }

    private mutating func fail<Number: FixedWidthInteger>() -> Number {
        isBroken = true
        at = bytes.count
        return 0
    }
}
