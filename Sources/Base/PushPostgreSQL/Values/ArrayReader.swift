/// A reader of an array in binary form. It ends early at a null or malformed element.
@unsafe
struct ArrayReader {
    private var bytes: UnsafeRawBufferPointer.SubSequence
    private var left: Int32

    /// Returns nil if the bytes are not an array with at most one dimension and elements of one of the types.
    init?(_ bytes: UnsafeRawBufferPointer, of types: [PostgreSQLType]) {
        guard bytes.count >= 12 else { return nil }
        let dimensions = unsafe bytes.integer(at: 0, as: Int32.self)
        let type = unsafe PostgreSQLType(rawValue: bytes.integer(at: 8, as: UInt32.self))
        guard types.contains(type) else { return nil }
        switch dimensions {
        case 0:
            guard bytes.count == 12 else { return nil }
            unsafe left = 0
            unsafe self.bytes = bytes[12...]
        case 1:
            guard bytes.count >= 20 else { return nil }
            unsafe left = bytes.integer(at: 12, as: Int32.self)
            guard unsafe left >= 0 else { return nil }
            unsafe self.bytes = bytes[20...]
        default:
            return nil
        }
    }

    /// Whether all elements were read, and nothing follows them.
    var isComplete: Bool { unsafe left == 0 && bytes.isEmpty }

    mutating func next() -> UnsafeRawBufferPointer? {
        guard unsafe left > 0, unsafe bytes.count >= 4 else { return nil }
        let length = Int(unsafe UnsafeRawBufferPointer(rebasing: bytes).integer(at: 0, as: Int32.self))
        guard length >= 0, unsafe bytes.count - 4 >= length else { return nil }
        let element = unsafe bytes.dropFirst(4).prefix(length)
        unsafe bytes = bytes.dropFirst(4 + length)
        unsafe left -= 1
        return unsafe UnsafeRawBufferPointer(rebasing: element)
    }
}

extension UnsafeRawBufferPointer {
    /// Returns an integer in network order. The caller checks that its bytes exist.
    func integer<Value: FixedWidthInteger>(at offset: Int, as type: Value.Type) -> Value {
        Value(bigEndian: unsafe loadUnaligned(fromByteOffset: offset, as: Value.self))
    }

    /// Returns the only integer; nil if the size is another.
    func onlyInteger<Value: FixedWidthInteger>(as type: Value.Type = Value.self) -> Value? {
        count == MemoryLayout<Value>.size ? unsafe integer(at: 0, as: type) : nil
    }
}
