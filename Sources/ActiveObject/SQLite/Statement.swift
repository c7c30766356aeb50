private import CSQLite

/// A prepared statement, with its parameters and result rows.
///
/// Parameters count from 1 and columns from 0, as in SQLite. Bound bytes are copied. The contents of a row are valid
/// until the next `step`.
@safe
final class Statement {
    private let handle: OpaquePointer
    let sql: String
    /// Unowned: a connection releases its statements before it is deallocated, and nothing else holds one.
    private unowned let connection: Connection
    private let interruption: Interruption
    /// Memory for bound texts and blobs, as long as they fit. SQLite's own copies would cost one allocation each.
    /// Parameters must be bound again for each run.
    private let arena = UnsafeMutableRawPointer.allocate(byteCount: Statement.arenaSize, alignment: 1)
    private var arenaUsed = 0
    private static let arenaSize = 2048
    /// A cache of short texts and the values that they stand for, in rows and parameters.
    let knownTexts = KnownTexts()
    var isLent = false
    var lastUse: UInt64 = 0

    @unsafe
    init(_ handle: OpaquePointer, sql: String, connection: Connection) {
        unsafe self.handle = handle
        self.sql = sql
        self.connection = connection
        interruption = connection.interruption
    }

    deinit {
        unsafe sqlite3_finalize(handle)
        unsafe arena.deallocate()
    }

    // MARK: Parameters

    @inline(__always)
    func bind(_ value: Int64, at index: Int32) throws(ColumnFault) {
        try check(unsafe sqlite3_bind_int64(handle, index, value))
    }

    /// Binds a real. SQLite would store NaN as NULL, which is a different value, so NaN throws.
    @inline(__always)
    func bind(_ value: Double, at index: Int32) throws(ColumnFault) {
        guard !value.isNaN else { throw .notANumber }
        try check(unsafe sqlite3_bind_double(handle, index, value))
    }

    func bind(_ value: String, at index: Int32) throws(ColumnFault) {
        // Nil, with a copy, only if the string does not have contiguous UTF-8.
        var code = unsafe value.utf8.withContiguousStorageIfAvailable { unsafe bind(text: $0, at: index) }
        if code == nil {
            var value = value
            code = value.withUTF8 { unsafe bind(text: $0, at: index) }
        }
        try check(code ?? SQLITE_NOMEM)
    }

    @inline(__always)
    private func bind(text: UnsafeBufferPointer<UInt8>, at index: Int32) -> Int32 {
        let text = UnsafeRawBufferPointer(text)
        if let kept = unsafe keep(text) {
            return unsafe CSQLite_bind_kept_text(handle, index, kept, Int64(text.count))
        }
        return unsafe CSQLite_bind_text(handle, index, text.baseAddress, Int64(text.count))
    }

    func bind(_ bytes: UnsafeRawBufferPointer, at index: Int32) throws(ColumnFault) {
        if let kept = unsafe keep(bytes) {
            return try check(unsafe CSQLite_bind_kept_blob(handle, index, kept, Int64(bytes.count)))
        }
        try check(unsafe CSQLite_bind_blob(handle, index, bytes.baseAddress, Int64(bytes.count)))
    }

    private func keep(_ bytes: UnsafeRawBufferPointer) -> UnsafeMutableRawPointer? {
        guard let start = bytes.baseAddress, bytes.count <= Self.arenaSize - arenaUsed else { return nil }
        let kept = unsafe arena + arenaUsed
        unsafe kept.copyMemory(from: start, byteCount: bytes.count)
        arenaUsed += bytes.count
        return unsafe kept
    }

    func bindNull(at index: Int32) throws(ColumnFault) {
        try check(unsafe sqlite3_bind_null(handle, index))
    }

    var parameterCount: Int { Int(unsafe sqlite3_bind_parameter_count(handle)) }

    /// Returns the index of a named parameter (with its prefix: ":name"), or nil if there is none.
    func parameterIndex(_ name: String) -> Int32? {
        let index = unsafe sqlite3_bind_parameter_index(handle, name)
        return index == 0 ? nil : index
    }

    @inline(__always)
    private func check(_ code: Int32) throws(ColumnFault) {
        if code != SQLITE_OK { throw code == SQLITE_TOOBIG ? .tooBig : .sqlite(code) }
    }

    /// Whether the statement only reads.
    var isReadOnly: Bool { unsafe sqlite3_stmt_readonly(handle) != 0 }

    // MARK: Running

    /// Returns true if there is a row, and false if the statement is done.
    func step() throws(ActiveObjectError) -> Bool {
        if interruption.isRequested { throw connection.stopped() }
        switch unsafe sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code: throw connection.failure(code, doing: "run", sql: sql)
        }
    }

    /// Runs the statement to its end and ignores its rows.
    func run() throws(ActiveObjectError) {
        while try step() {}
        rewind()
    }

    /// Prepares for the next run, for which all parameters must be bound again.
    func rewind() {
        unsafe sqlite3_reset(handle)
        arenaUsed = 0
    }

    /// Prepares for the next run, and frees the bound values.
    func reset() {
        unsafe sqlite3_reset(handle)
        unsafe sqlite3_clear_bindings(handle)
        arenaUsed = 0
    }

    // MARK: Rows

    /// The number of columns. It is reliable only after the first `step`, because another connection may have changed
    /// the table.
    var columnCount: Int { Int(unsafe sqlite3_column_count(handle)) }

    func columnName(_ index: Int32) -> String {
        unsafe sqlite3_column_name(handle, index).map { unsafe String(cString: $0) } ?? ""
    }

    @inline(__always)
    func valueClass(_ index: Int32) -> ValueClass {
        switch unsafe sqlite3_column_type(handle, index) {
        case SQLITE_INTEGER: .integer
        case SQLITE_FLOAT: .real
        case SQLITE_TEXT: .text
        case SQLITE_BLOB: .blob
        default: .null
        }
    }

    @inline(__always)
    func isNull(_ index: Int32) -> Bool {
        unsafe sqlite3_column_type(handle, index) == SQLITE_NULL
    }

    // These functions fetch the value first and then its type: one call into the statement per column instead of two.
    // SQLite calls such a value "unprotected", because no mutex is held for it. A connection that was opened without a
    // mutex (SQLITE_OPEN_NOMUTEX) and is used by one thread at a time does not need one.

    @inline(__always)
    func integer(_ index: Int32) throws(ColumnFault) -> Int64 {
        let value = unsafe sqlite3_column_value(handle, index)
        guard unsafe sqlite3_value_type(value) == SQLITE_INTEGER else { throw mismatch(index, wanted: .integer) }
        return unsafe sqlite3_value_int64(value)
    }

    @inline(__always)
    func optionalInteger(_ index: Int32) throws(ColumnFault) -> Int64? {
        let value = unsafe sqlite3_column_value(handle, index)
        let type = unsafe sqlite3_value_type(value)
        if type == SQLITE_INTEGER { return unsafe sqlite3_value_int64(value) }
        guard type == SQLITE_NULL else { throw mismatch(index, wanted: .integer) }
        return nil
    }

    @inline(__always)
    func real(_ index: Int32) throws(ColumnFault) -> Double {
        let value = unsafe sqlite3_column_value(handle, index)
        let type = unsafe sqlite3_value_type(value)
        guard type == SQLITE_FLOAT || type == SQLITE_INTEGER else { throw mismatch(index, wanted: .real) }
        return unsafe sqlite3_value_double(value)
    }

    func text(_ index: Int32) throws(ColumnFault) -> String {
        let value = unsafe sqlite3_column_value(handle, index)
        guard unsafe sqlite3_value_type(value) == SQLITE_TEXT else { throw mismatch(index, wanted: .text) }
        // The text must be fetched before its length, because fetching it may convert the encoding.
        guard let bytes = unsafe sqlite3_value_text(value) else { throw outOfMemory(index) }
        let count = unsafe Int(sqlite3_value_bytes(value))
        // `String(validating:as:)` does the same, but looks up its types in the runtime in each call.
        do {
            let text = unsafe UnsafeBufferPointer(start: bytes, count: count)
            return String(copying: try unsafe UTF8Span(validating: text.span))
        } catch {
            throw .notUTF8
        }
    }

    /// Returns a text of a few bytes without creating a `String`; nil if it is longer or is not text.
    @inline(__always)
    func shortText(_ index: Int32) -> ShortText? {
        let value = unsafe sqlite3_column_value(handle, index)
        guard unsafe sqlite3_value_type(value) == SQLITE_TEXT, let bytes = unsafe sqlite3_value_text(value) else {
            return nil
        }
        return unsafe ShortText(UnsafeRawPointer(bytes), count: Int(sqlite3_value_bytes(value)))
    }

    @inline(never)
    private func mismatch(_ index: Int32, wanted: ValueClass) -> ColumnFault {
        .found(valueClass(index), wanted: wanted)
    }

    /// Returns the error for a text that could not be allocated. SQLite resets its out-of-memory state only if the text
    /// is fetched through the statement, not through the value.
    @inline(never)
    private func outOfMemory(_ index: Int32) -> ColumnFault {
        _ = unsafe sqlite3_column_text(handle, index)
        return .sqlite(SQLITE_NOMEM)
    }

    /// Calls `body` with the bytes of a blob, which are valid until the next `step`.
    @inline(__always)
    func withBlob<Result>(_ index: Int32, _ body: (UnsafeRawBufferPointer) -> Result) throws(ColumnFault) -> Result {
        guard unsafe sqlite3_column_type(handle, index) == SQLITE_BLOB else { throw mismatch(index, wanted: .blob) }
        let bytes = unsafe sqlite3_column_blob(handle, index)
        let count = unsafe Int(sqlite3_column_bytes(handle, index))
        return unsafe body(UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count))
    }
}
