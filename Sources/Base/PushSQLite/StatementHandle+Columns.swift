public import CSQLite

/// The class of a value in SQLite.
public struct StorageClass: Equatable, Sendable {
    @usableFromInline let number: Int32

    @inlinable
    init(number: Int32) {
        self.number = number
    }

    @inlinable public static var integer: StorageClass { StorageClass(number: SQLITE_INTEGER) }
    @inlinable public static var real: StorageClass { StorageClass(number: SQLITE_FLOAT) }
    @inlinable public static var text: StorageClass { StorageClass(number: SQLITE_TEXT) }
    @inlinable public static var blob: StorageClass { StorageClass(number: SQLITE_BLOB) }
    @inlinable public static var null: StorageClass { StorageClass(number: SQLITE_NULL) }

    @inlinable
    public static func == (one: StorageClass, other: StorageClass) -> Bool { one.number == other.number }
}

/// A value of the current row, which is valid until the next `step`.
///
/// To fetch the value first and then its class takes one call into the statement per column instead of two. SQLite
/// calls such a value "unprotected", because no mutex is held for it. A connection that was opened without a mutex and
/// is used by one thread at a time does not need one.
@unsafe
public struct ColumnValue {
    @usableFromInline let pointer: OpaquePointer?

    @inlinable
    init(pointer: OpaquePointer?) {
        unsafe self.pointer = unsafe pointer
    }

    @inlinable
    public var storageClass: StorageClass { StorageClass(number: unsafe sqlite3_value_type(pointer)) }

    @inlinable
    public var integer: Int64 { unsafe sqlite3_value_int64(pointer) }

    @inlinable
    public var real: Double { unsafe sqlite3_value_double(pointer) }

    /// The text in UTF-8; nil if it is NULL or could not be allocated.
    @inlinable
    public var text: UnsafeBufferPointer<UInt8>? {
        // The text must be fetched before its length, because fetching it may convert the encoding.
        guard let bytes = unsafe sqlite3_value_text(pointer) else { return nil }
        return unsafe UnsafeBufferPointer(start: bytes, count: Int(sqlite3_value_bytes(pointer)))
    }
}

extension StatementHandle {
    @inlinable
    public func value(_ index: Int32) -> ColumnValue {
        unsafe ColumnValue(pointer: sqlite3_column_value(pointer, index))
    }

    @inlinable
    public func storageClass(_ index: Int32) -> StorageClass {
        StorageClass(number: unsafe sqlite3_column_type(pointer, index))
    }

    /// Returns a column as an integer, which SQLite converts from any class.
    @inlinable
    public func integer(_ index: Int32) -> Int64 { unsafe sqlite3_column_int64(pointer, index) }

    /// Returns a column as text in UTF-8, which SQLite converts from any class; nil for NULL or without memory. It is
    /// valid until the next `step`.
    @inlinable
    public func text(_ index: Int32) -> UnsafeBufferPointer<UInt8>? {
        guard let bytes = unsafe sqlite3_column_text(pointer, index) else { return nil }
        return unsafe UnsafeBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(pointer, index)))
    }

    /// Returns a column as a blob; empty for NULL or without memory. It is valid until the next `step`.
    @inlinable
    public func blob(_ index: Int32) -> UnsafeRawBufferPointer {
        let bytes = unsafe sqlite3_column_blob(pointer, index)
        // If SQLite runs out of memory, it returns a length but no address.
        let count = unsafe bytes == nil ? 0 : Int(sqlite3_column_bytes(pointer, index))
        return unsafe UnsafeRawBufferPointer(start: bytes, count: count)
    }
}
