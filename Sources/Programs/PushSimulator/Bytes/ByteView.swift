import Glibc
import PushRandom

/// A view of bytes that another object owns, valid for the duration of a call.
///
/// Every read is checked against the bounds, also in release builds. Data from peers is read through this type, and an
/// error in a parser must stop the program instead of reading foreign memory.
@safe
package struct ByteView {
    private let base: UnsafePointer<UInt8>
    package let count: Int

    /// - Important: The view must not outlive `bytes`.
    @unsafe
    package init(borrowing bytes: UnsafeRawBufferPointer) {
        if bytes.count > 0, let start = bytes.baseAddress {
            unsafe base = start.assumingMemoryBound(to: UInt8.self)
            count = bytes.count
        } else {
            // This address is never dereferenced, because the count is zero.
            unsafe base = UnsafePointer(bitPattern: 1)!
            count = 0
        }
    }

    private init(base: UnsafePointer<UInt8>, count: Int) {
        unsafe self.base = unsafe base
        self.count = count
    }

    /// Calls `body` with a view of the bytes of an array.
    package static func lending<Result, Failure: Error>(
        _ bytes: [UInt8], to body: (ByteView) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        unsafe try bytes.withUnsafeBufferPointer { (buffer) throws(Failure) -> Result in
            unsafe try body(ByteView(borrowing: UnsafeRawBufferPointer(buffer)))
        }
    }

    package var isEmpty: Bool { count == 0 }

    @inline(__always)
    package subscript(position: Int) -> UInt8 {
        precondition(UInt(bitPattern: position) < UInt(bitPattern: count), "byte outside of its view")
        return unsafe base[position]
    }

    /// Returns the eight bytes at a position as a word; the first byte is the least significant one.
    @inline(__always)
    func word(at position: Int) -> UInt64 {
        precondition(position >= 0 && position <= count - 8, "word outside of its view")
        return unsafe UInt64(
            littleEndian: UnsafeRawPointer(base + position).loadUnaligned(as: UInt64.self))
    }

    /// Returns the four bytes at a position as a word; the first byte is the least significant one.
    @inline(__always)
    func halfWord(at position: Int) -> UInt32 {
        precondition(position >= 0 && position <= count - 4, "half word outside of its view")
        return unsafe UInt32(
            littleEndian: UnsafeRawPointer(base + position).loadUnaligned(as: UInt32.self))
    }

    func slice(from start: Int, to end: Int) -> ByteView {
        precondition(start >= 0 && start <= end && end <= count, "slice outside of its view")
        return unsafe ByteView(base: base + start, count: end - start)
    }

    func dropFirst(_ amount: Int) -> ByteView { slice(from: min(amount, count), to: count) }
    func prefix(_ amount: Int) -> ByteView { slice(from: 0, to: min(amount, count)) }

    @inline(__always)
    func equals(_ literal: StaticString) -> Bool {
        let length = literal.utf8CodeUnitCount
        return unsafe count == length && memcmp(base, literal.utf8Start, length) == 0
    }

    func equals(_ other: ByteView) -> Bool {
        unsafe count == other.count && memcmp(base, other.base, count) == 0
    }

    func equals(_ other: [UInt8]) -> Bool {
        ByteView.lending(other) { equals($0) }
    }

    @inline(__always)
    func hasPrefix(_ literal: StaticString) -> Bool {
        let length = literal.utf8CodeUnitCount
        return unsafe count >= length && memcmp(base, literal.utf8Start, length) == 0
    }

    func hasSuffix(_ literal: StaticString) -> Bool {
        let length = literal.utf8CodeUnitCount
        return unsafe count >= length && memcmp(base + (count - length), literal.utf8Start, length) == 0
    }

    func firstIndex(of byte: UInt8) -> Int? {
        var position = 0
        while position < count {
            if self[position] == byte { return position }
            position += 1
        }
        return nil
    }

    func contains(_ byte: UInt8) -> Bool { firstIndex(of: byte) != nil }

    /// Parses an unsigned decimal number. Returns nil if a byte is not a digit or if there are more than 18 digits.
    func decimal() -> Int64? {
        guard count > 0, count <= 18 else { return nil }
        var value: Int64 = 0
        for position in 0..<count {
            let digit = self[position] &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            value = value &* 10 &+ Int64(digit)
        }
        return value
    }

    /// Returns the bytes as an array. This allocates; successful requests do not call it.
    func copied() -> [UInt8] {
        unsafe Array(UnsafeBufferPointer(start: base, count: count))
    }

    /// The bytes as text; invalid UTF-8 is replaced. This allocates and is meant for messages to people.
    var text: String { String(decoding: copied(), as: UTF8.self) }

    func copy(to target: UnsafeMutableRawPointer) {
        unsafe target.copyMemory(from: base, byteCount: count)
    }

    /// Returns a hash of the bytes for tables in memory (FNV-1a over words, then mixed). The hash does not resist
    /// chosen keys, so every table that uses it is bounded.
    func hash() -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325 ^ UInt64(truncatingIfNeeded: count)
        var position = 0
        while position + 8 <= count {
            hash = (hash ^ word(at: position)) &* 0x0000_0100_0000_01b3
            hash ^= hash >> 29
            position += 8
        }
        while position < count {
            hash = (hash ^ UInt64(self[position])) &* 0x0000_0100_0000_01b3
            position += 1
        }
        return SeededRandom.mix(hash)
    }
}
