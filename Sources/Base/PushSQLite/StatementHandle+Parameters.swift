public import CSQLite

extension StatementHandle {
    @inlinable
    public func bind(_ value: Int64, at index: Int32) -> ResultCode {
        ResultCode(rawValue: unsafe sqlite3_bind_int64(pointer, index, value))
    }

    /// Binds a real. SQLite binds NaN as NULL.
    @inlinable
    public func bind(_ value: Double, at index: Int32) -> ResultCode {
        ResultCode(rawValue: unsafe sqlite3_bind_double(pointer, index, value))
    }

    @inlinable
    public func bindNull(at index: Int32) -> ResultCode {
        ResultCode(rawValue: unsafe sqlite3_bind_null(pointer, index))
    }

    /// Binds a text in UTF-8. SQLite copies it.
    @inlinable
    public func bindText(copying text: UnsafeRawBufferPointer, at index: Int32) -> ResultCode {
        ResultCode(rawValue: unsafe CSQLite_bind_text(pointer, index, text.baseAddress, Int64(text.count)))
    }

    /// Binds a text in UTF-8 without copying it. The caller keeps it until the parameter is bound again or cleared.
    @inlinable
    public func bindText(keeping text: UnsafeRawBufferPointer, at index: Int32) -> ResultCode {
        ResultCode(rawValue: unsafe CSQLite_bind_kept_text(pointer, index, text.baseAddress, Int64(text.count)))
    }

    /// Binds a blob. SQLite copies it.
    @inlinable
    public func bindBlob(copying bytes: UnsafeRawBufferPointer, at index: Int32) -> ResultCode {
        ResultCode(rawValue: unsafe CSQLite_bind_blob(pointer, index, bytes.baseAddress, Int64(bytes.count)))
    }

    /// Binds a blob without copying it. The caller keeps it until the parameter is bound again or cleared.
    @inlinable
    public func bindBlob(keeping bytes: UnsafeRawBufferPointer, at index: Int32) -> ResultCode {
        ResultCode(rawValue: unsafe CSQLite_bind_kept_blob(pointer, index, bytes.baseAddress, Int64(bytes.count)))
    }
}
