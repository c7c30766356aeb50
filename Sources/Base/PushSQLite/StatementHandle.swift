public import CSQLite

/// A prepared statement. Its lifetime ends the statement.
///
/// Parameters count from 1 and columns from 0, as in SQLite. A statement is used on the thread of its connection only.
/// The functions are thin so that they can be inlined; the record layers add what they need. See ``ResultCode`` for why
/// they are public.
@safe
public struct StatementHandle: ~Copyable {
    @usableFromInline let pointer: OpaquePointer

    @unsafe
    init(_ pointer: OpaquePointer) {
        unsafe self.pointer = pointer
    }

    deinit {
        unsafe sqlite3_finalize(pointer)
    }

    // MARK: Running

    /// Returns true if there is a row, and false if the statement is done.
    @inlinable
    public func step() throws(SQLiteFailure) -> Bool {
        let code = unsafe sqlite3_step(pointer)
        if code == SQLITE_ROW { return true }
        if code == SQLITE_DONE { return false }
        throw failure(code)
    }

    @usableFromInline
    @inline(never)
    func failure(_ code: Int32) -> SQLiteFailure {
        unsafe SQLiteFailure(code, on: sqlite3_db_handle(pointer))
    }

    /// Returns the error for a code that a call of this statement returned just now.
    public func failure(_ code: ResultCode) -> SQLiteFailure { failure(code.rawValue) }

    /// Prepares for the next run. The parameters keep their values.
    @inlinable
    public func rewind() {
        unsafe _ = sqlite3_reset(pointer)
    }

    /// Sets all parameters to NULL.
    @inlinable
    public func clearBindings() {
        unsafe _ = sqlite3_clear_bindings(pointer)
    }

    // MARK: Description

    /// Whether the statement only reads.
    public var isReadOnly: Bool { unsafe sqlite3_stmt_readonly(pointer) != 0 }

    public var parameterCount: Int { Int(unsafe sqlite3_bind_parameter_count(pointer)) }

    /// Returns the index of a named parameter (with its prefix: ":name"), or nil if there is none.
    public func parameterIndex(_ name: String) -> Int32? {
        let index = unsafe sqlite3_bind_parameter_index(pointer, name)
        return index == 0 ? nil : index
    }

    /// The number of columns. It is reliable only after the first `step`, because another connection may have changed
    /// the table.
    public var columnCount: Int { Int(unsafe sqlite3_column_count(pointer)) }

    public func columnName(_ index: Int32) -> String {
        unsafe sqlite3_column_name(pointer, index).map { unsafe String(cString: $0) } ?? ""
    }
}
