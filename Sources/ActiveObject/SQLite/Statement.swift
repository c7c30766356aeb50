private import CSQLite

/// One prepared statement: parameters in, rows out.
///
/// Parameters count from 1 and columns from 0, as in SQLite. Bytes are copied on the way in; what a row holds is valid
/// until the next `step`.
@safe
final class Statement {
    private let handle: OpaquePointer
    let sql: String
    /// Unowned: a connection drops its statements before it goes, and nothing else keeps one.
    private unowned let connection: Connection
    private let interruption: Interruption
    /// Texts and blobs that fit are copied here, which is there as long as the statement is: SQLite's own copies would
    /// be one allocation each. Whoever runs the statement again binds again.
    private let arena = UnsafeMutableRawPointer.allocate(byteCount: Statement.arenaSize, alignment: 1)
    private var arenaUsed = 0
    private static let arenaSize = 2048
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

    func bind(_ value: Int64, at index: Int32) throws(ColumnFault) {
        try check(unsafe sqlite3_bind_int64(handle, index, value))
    }

    /// Not a number is NULL to SQLite, which would be another value than the one that was given.
    func bind(_ value: Double, at index: Int32) throws(ColumnFault) {
        guard !value.isNaN else { throw .notANumber }
        try check(unsafe sqlite3_bind_double(handle, index, value))
    }

    func bind(_ value: String, at index: Int32) throws(ColumnFault) {
        var value = value
        let code = value.withUTF8 { text in
            let text = UnsafeRawBufferPointer(text)
            if let kept = unsafe keep(text) {
                return unsafe CSQLite_bind_kept_text(handle, index, kept, Int64(text.count))
            }
            return unsafe CSQLite_bind_text(handle, index, text.baseAddress, Int64(text.count))
        }
        try check(code)
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

    /// The place of a named parameter, with its prefix (":name"); nil if there is none.
    func parameterIndex(_ name: String) -> Int32? {
        let index = unsafe sqlite3_bind_parameter_index(handle, name)
        return index == 0 ? nil : index
    }

    @inline(__always)
    private func check(_ code: Int32) throws(ColumnFault) {
        if code != SQLITE_OK { throw code == SQLITE_TOOBIG ? .tooBig : .sqlite(code) }
    }

    /// Whether it leaves the file as it is.
    var isReadOnly: Bool { unsafe sqlite3_stmt_readonly(handle) != 0 }

    // MARK: Running

    /// True: there is a row. False: the statement is done.
    func step() throws(ActiveObjectError) -> Bool {
        if interruption.isRequested { throw connection.stopped() }
        switch unsafe sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code: throw connection.failure(code, doing: "run", sql: sql)
        }
    }

    /// For statements whose rows are of no interest.
    func run() throws(ActiveObjectError) {
        while try step() {}
        rewind()
    }

    /// Ready for the next run. Its parameters have to be bound again, all of them.
    func rewind() {
        unsafe sqlite3_reset(handle)
        arenaUsed = 0
    }

    /// Ready for the next run, without parameters: what they held is given back.
    func reset() {
        unsafe sqlite3_reset(handle)
        unsafe sqlite3_clear_bindings(handle)
        arenaUsed = 0
    }

    // MARK: Rows

    /// Known for sure after the first `step` only: another connection may have changed the table.
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

    @inline(__always)
    func integer(_ index: Int32) throws(ColumnFault) -> Int64 {
        guard unsafe sqlite3_column_type(handle, index) == SQLITE_INTEGER else {
            throw .found(valueClass(index), wanted: .integer)
        }
        return unsafe sqlite3_column_int64(handle, index)
    }

    @inline(__always)
    func real(_ index: Int32) throws(ColumnFault) -> Double {
        let type = unsafe sqlite3_column_type(handle, index)
        guard type == SQLITE_FLOAT || type == SQLITE_INTEGER else {
            throw .found(valueClass(index), wanted: .real)
        }
        return unsafe sqlite3_column_double(handle, index)
    }

    @inline(__always)
    func text(_ index: Int32) throws(ColumnFault) -> String {
        guard unsafe sqlite3_column_type(handle, index) == SQLITE_TEXT else {
            throw .found(valueClass(index), wanted: .text)
        }
        // The text first, then its length: the other way round the length could be that of another encoding.
        guard let bytes = unsafe sqlite3_column_text(handle, index) else { throw .sqlite(SQLITE_NOMEM) }
        let count = unsafe Int(sqlite3_column_bytes(handle, index))
        guard let text = unsafe String(validating: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
        else { throw .notUTF8 }
        return text
    }

    /// The bytes of a blob, while the row lasts.
    @inline(__always)
    func withBlob<Result>(_ index: Int32, _ body: (UnsafeRawBufferPointer) -> Result) throws(ColumnFault) -> Result {
        guard unsafe sqlite3_column_type(handle, index) == SQLITE_BLOB else {
            throw .found(valueClass(index), wanted: .blob)
        }
        let bytes = unsafe sqlite3_column_blob(handle, index)
        let count = unsafe Int(sqlite3_column_bytes(handle, index))
        return unsafe body(UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count))
    }
}
