import FoundationEssentials

/// A custom type that is stored as a blob and reads and writes its bytes in place.
///
/// It does the same as a ``ColumnValue`` that is a blob, but without a `Data` for each value. Use it for keys and
/// tokens in tables of millions of rows, and in code that does not use Foundation.
public protocol ColumnBytes: Sendable {
    /// Creates a value from the bytes of a column. Returns nil if they are invalid; the read then throws an error that
    /// names the column. The bytes are only valid during the call.
    init?(columnBytes: UnsafeRawBufferPointer)

    /// Calls `body` with the bytes of the value and returns its result.
    func withColumnBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result
}

/// The codec of a ``ColumnBytes`` type.
enum BytesCodec<Value: ColumnBytes>: ColumnCodec {
    static var valueClass: ValueClass { .blob }

    static func bind(_ value: Value, to statement: Statement, at index: Int32) throws(ColumnFault) {
        var fault: ColumnFault?
        unsafe value.withColumnBytes { bytes in
            do throws(ColumnFault) {
                try unsafe statement.bind(bytes, at: index)
            } catch {
                fault = error
            }
        }
        if let fault { throw fault }
    }

    static func read(from statement: Statement, at index: Int32) throws(ColumnFault) -> Value {
        guard let value = try unsafe statement.withBlob(index, body: { unsafe Value(columnBytes: $0) }) else {
            throw .unreadable(type: "\(Value.self)")
        }
        return value
    }

    static func stored(_ value: Value) -> SQLValue {
        unsafe value.withColumnBytes { unsafe .blob(Data($0)) }
    }
}
