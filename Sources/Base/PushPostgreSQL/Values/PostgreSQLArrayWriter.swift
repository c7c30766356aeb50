/// A writer of the elements of one array.
package struct PostgreSQLArrayWriter: ~Copyable {
    private var buffer: BinaryBuffer
    private let start: Int
    private var count = 0
    /// Whether an element is larger than the protocol allows.
    private(set) var isTooLarge = false

    init(_ buffer: consuming BinaryBuffer, of type: PostgreSQLType) {
        self.buffer = buffer
        start = self.buffer.count
        // The number of dimensions, "has nulls", the type of the elements, their number, and the first index.
        self.buffer.append(1 as Int32)
        self.buffer.append(0 as Int32)
        self.buffer.append(type.rawValue)
        self.buffer.append(0 as Int32)
        self.buffer.append(1 as Int32)
    }

    /// Appends an element that is copied.
    package mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard startElement(bytes.count) else { return }
        unsafe buffer.append(bytes)
    }

    mutating func append<Value: FixedWidthInteger>(_ value: Value) {
        guard startElement(MemoryLayout<Value>.size) else { return }
        buffer.append(value)
    }

    mutating func append(_ values: UnsafeBufferPointer<Int32>) {
        unsafe values.forEach { append($0) }
    }

    mutating func append(_ values: UnsafeBufferPointer<Int64>) {
        unsafe values.forEach { append($0) }
    }

    private mutating func startElement(_ byteCount: Int) -> Bool {
        guard let length = Int32(exactly: byteCount), length >= 0 else {
            isTooLarge = true
            return false
        }
        count += 1
        buffer.append(length)
        return true
    }

    /// Ends the array, and returns the buffer.
    consuming func finish() -> BinaryBuffer {
        if let count = Int32(exactly: count), !isTooLarge {
            // An empty array has no dimension. The server accepts one of length 0, too.
            buffer.replace(count, at: start + 12)
        }
        return buffer
    }
}
