import FoundationEssentials

/// A type of the user's own that is kept as a blob, and reads and writes its bytes where they lie.
///
/// What a `ColumnValue` that is a blob does, without a `Data` for each value: for keys and tokens in tables of a million
/// rows, and for those who have no use for Foundation.
public protocol ColumnBytes: Sendable {
    /// Nil if no value of this type looks like that; the reader is told which column holds it. The bytes are gone when
    /// it returns.
    init?(columnBytes: UnsafeRawBufferPointer)

    func withColumnBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result
}

/// Over a `ColumnBytes`.
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

    static func read(_ statement: Statement, _ index: Int32) throws(ColumnFault) -> Value {
        guard let value = try unsafe statement.withBlob(index, { unsafe Value(columnBytes: $0) }) else {
            throw .unreadable(type: "\(Value.self)")
        }
        return value
    }

    static func stored(_ value: Value) -> SQLValue {
        unsafe value.withColumnBytes { unsafe .blob(Data($0)) }
    }
}
