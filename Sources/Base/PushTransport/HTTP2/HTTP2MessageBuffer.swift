import Glibc

/// The header fields and the body of one message, copied into contiguous memory that the next message reuses. The stream
/// that owns it must free it explicitly, because streams are in memory to which others point.
@safe
struct HTTP2MessageBuffer {
    private static let keptCapacity = 16 * 1024
    /// The overhead of a field: the lengths of its name and of its value, four bytes each, come before both.
    private static let fieldOverhead = 8

    private var memory: UnsafeMutableRawPointer?
    private var capacity = 0
    private var fieldsEnd = 0
    private var end = 0

    mutating func reset() {
        fieldsEnd = 0
        end = 0
        // A stream that is reused for small messages must not keep the memory of one large body.
        if capacity > Self.keptCapacity { free() }
    }

    mutating func free() {
        unsafe memory?.deallocate()
        unsafe memory = nil
        capacity = 0
        fieldsEnd = 0
        end = 0
    }

    /// Appends a field. Returns false if the fields would exceed `limit`; the field is then dropped.
    mutating func appendField(
        name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, limit: Int
    ) -> Bool {
        let length = Self.fieldOverhead + name.count + value.count
        // The body has begun, so these are trailers, which are ignored.
        guard fieldsEnd == end else { return true }
        guard end + length <= limit else { return false }
        let field = unsafe reserve(length) + end
        unsafe field.storeBytes(of: UInt32(truncatingIfNeeded: name.count), as: UInt32.self)
        unsafe (field + 4).storeBytes(of: UInt32(truncatingIfNeeded: value.count), as: UInt32.self)
        unsafe UnsafeMutableRawBufferPointer(start: field + 8, count: name.count).copyMemory(from: name)
        unsafe UnsafeMutableRawBufferPointer(start: field + 8 + name.count, count: value.count)
            .copyMemory(from: value)
        end += length
        fieldsEnd = end
        return true
    }

    /// Appends to the body. Returns false if the body exceeds `limit`; it is then truncated.
    mutating func appendBody(_ bytes: UnsafeRawBufferPointer, limit: Int) -> Bool {
        let kept = min(bytes.count, limit - (end - fieldsEnd))
        if kept > 0, let start = bytes.baseAddress {
            unsafe (reserve(kept) + end).copyMemory(from: start, byteCount: kept)
            end += kept
        }
        return kept == bytes.count
    }

    /// The fields as they lie in the memory, for ``setFields(_:)``.
    var fieldBytes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(start: memory, count: fieldsEnd) }

    /// Sets the fields of a message without any.
    mutating func setFields(_ bytes: UnsafeRawBufferPointer) {
        if bytes.count > 0, let start = bytes.baseAddress {
            unsafe reserve(bytes.count).copyMemory(from: start, byteCount: bytes.count)
        }
        fieldsEnd = bytes.count
        end = bytes.count
    }

    private mutating func reserve(_ amount: Int) -> UnsafeMutableRawPointer {
        if let memory = unsafe memory, capacity - end >= amount { return unsafe memory }
        let wanted = max(2 * capacity, end + amount, 512)
        let larger = UnsafeMutableRawPointer.allocate(byteCount: wanted, alignment: 8)
        if let memory = unsafe memory {
            unsafe larger.copyMemory(from: memory, byteCount: end)
            unsafe memory.deallocate()
        }
        unsafe memory = unsafe larger
        capacity = wanted
        return unsafe larger
    }

    var fields: HTTP2FieldCursor {
        unsafe HTTP2FieldCursor(UnsafeRawBufferPointer(start: memory, count: fieldsEnd))
    }

    var body: UnsafeRawBufferPointer {
        guard let memory = unsafe memory else { return unsafe UnsafeRawBufferPointer(start: nil, count: 0) }
        return unsafe UnsafeRawBufferPointer(start: memory + fieldsEnd, count: end - fieldsEnd)
    }
}

/// One header field, borrowed. Valid as long as the message that contains it.
@unsafe
package struct HTTP2Field {
    package let name: UnsafeRawBufferPointer
    package let value: UnsafeRawBufferPointer

    package func isNamed(_ other: StaticString) -> Bool {
        unsafe name.count == other.utf8CodeUnitCount
            && memcmp(name.baseAddress!, other.utf8Start, name.count) == 0
    }
}

/// An iterator over the fields of a message in their order.
@unsafe
package struct HTTP2FieldCursor {
    private let bytes: UnsafeRawBufferPointer
    private var offset = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        unsafe self.bytes = unsafe bytes
    }

    package mutating func next() -> HTTP2Field? {
        guard unsafe offset < bytes.count, let base = unsafe bytes.baseAddress else { return nil }
        let field = unsafe base + offset
        let nameLength = unsafe Int(field.loadUnaligned(as: UInt32.self))
        let valueLength = unsafe Int((field + 4).loadUnaligned(as: UInt32.self))
        unsafe offset += 8 + nameLength + valueLength
        return unsafe HTTP2Field(
            name: UnsafeRawBufferPointer(start: field + 8, count: nameLength),
            value: UnsafeRawBufferPointer(start: field + 8 + nameLength, count: valueLength))
    }

    /// Returns the value of the first field with that name.
    package func first(_ name: StaticString) -> UnsafeRawBufferPointer? {
        var cursor = unsafe self
        while let field = unsafe cursor.next() {
            if unsafe field.isNamed(name) { return unsafe field.value }
        }
        return nil
    }
}
