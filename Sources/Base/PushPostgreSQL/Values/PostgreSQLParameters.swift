/// The parameters of the calls of a section, in binary form and in one buffer.
package struct PostgreSQLParameters: ~Copyable {
    /// One value in the buffer. The length of a null is -1.
    struct Slot {
        let offset: Int
        let length: Int32
    }

    private(set) var buffer = BinaryBuffer()
    private(set) var slots: [Slot] = []
    private var hasTooLarge = false

    init() {}

    /// Why the parameters cannot be sent; nil if they can.
    var fault: String? {
        if hasTooLarge { return "a parameter exceeds 2 GiB" }
        return buffer.isExhausted ? "out of memory" : nil
    }

    mutating func clear() {
        buffer.clear()
        slots.removeAll(keepingCapacity: true)
        hasTooLarge = false
    }

    private mutating func end(from start: Int) {
        guard let length = Int32(exactly: buffer.count - start) else {
            hasTooLarge = true
            return
        }
        slots.append(Slot(offset: start, length: length))
    }

    // MARK: Values

    package mutating func appendNull() {
        slots.append(Slot(offset: 0, length: -1))
    }

    package mutating func append(bool value: Bool) {
        append(value ? 1 as UInt8 : 0)
    }

    package mutating func append(int4 value: Int32) {
        append(value)
    }

    package mutating func append(int8 value: Int64) {
        append(value)
    }

    package mutating func append(timestamp value: PostgreSQLTimestamp) {
        append(value.microseconds)
    }

    /// The server rejects a text with a zero byte.
    package mutating func append(text value: String) {
        let start = buffer.count
        unsafe Self.withBytes(of: value) { unsafe buffer.append($0) }
        end(from: start)
    }

    package mutating func append(bytea value: UnsafeRawBufferPointer) {
        let start = buffer.count
        unsafe buffer.append(value)
        end(from: start)
    }

    package mutating func append(bytea value: [UInt8]) {
        unsafe value.withUnsafeBytes { unsafe append(bytea: $0) }
    }

    private mutating func append<Value: FixedWidthInteger>(_ value: Value) {
        let start = buffer.count
        buffer.append(value)
        end(from: start)
    }

    // MARK: Arrays

    /// Appends an array. An `Array` is the fastest collection here.
    package mutating func append(int4Array values: some Sequence<Int32>) {
        appendArray(of: .int4) { array in
            if values.withContiguousStorageIfAvailable({ unsafe array.append($0) }) == nil {
                for value in values { array.append(value) }
            }
        }
    }

    /// Appends an array. An `Array` is the fastest collection here.
    package mutating func append(int8Array values: some Sequence<Int64>) {
        appendArray(of: .int8) { array in
            if values.withContiguousStorageIfAvailable({ unsafe array.append($0) }) == nil {
                for value in values { array.append(value) }
            }
        }
    }

    package mutating func append(textArray values: some Sequence<String>) {
        appendArray(of: .text) { array in
            for value in values { unsafe Self.withBytes(of: value) { unsafe array.append($0) } }
        }
    }

    package mutating func append(byteaArray values: some Sequence<[UInt8]>) {
        appendArray(of: .bytea) { array in
            for value in values { unsafe value.withUnsafeBytes { unsafe array.append($0) } }
        }
    }

    /// Appends an array whose elements `body` appends, so that each is copied once.
    package mutating func appendByteaArray(_ body: (inout PostgreSQLArrayWriter) -> Void) {
        appendArray(of: .bytea, body)
    }

    private mutating func appendArray(of type: PostgreSQLType, _ body: (inout PostgreSQLArrayWriter) -> Void) {
        let start = buffer.count
        var taken = BinaryBuffer()
        swap(&taken, &buffer)
        var writer = PostgreSQLArrayWriter(taken, of: type)
        body(&writer)
        if writer.isTooLarge { hasTooLarge = true }
        buffer = writer.finish()
        end(from: start)
    }

    private static func withBytes(of text: String, _ body: (UnsafeRawBufferPointer) -> Void) {
        var text = text
        text.withUTF8 { unsafe body(UnsafeRawBufferPointer($0)) }
    }
}
