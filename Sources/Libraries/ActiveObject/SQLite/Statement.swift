import PushSQLite

/// A prepared statement, with its parameters and result rows.
///
/// Parameters count from 1 and columns from 0, as in SQLite. Bound bytes are copied. The contents of a row are valid
/// until the next `step`.
@safe
final class Statement {
    private let handle: StatementHandle
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

    init(_ handle: consuming StatementHandle, sql: String, connection: Connection) {
        self.handle = handle
        self.sql = sql
        self.connection = connection
        interruption = connection.interruption
    }

    deinit {
        // The statement ends afterwards, and does not read what was bound.
        unsafe arena.deallocate()
    }

    // MARK: Parameters

    @inline(__always)
    func bind(_ value: Int64, at index: Int32) throws(ColumnFault) {
        try check(handle.bind(value, at: index))
    }

    /// Binds a real. SQLite would store NaN as NULL, which is a different value, so NaN throws.
    @inline(__always)
    func bind(_ value: Double, at index: Int32) throws(ColumnFault) {
        guard !value.isNaN else { throw .notANumber }
        try check(handle.bind(value, at: index))
    }

    func bind(_ value: String, at index: Int32) throws(ColumnFault) {
        // Nil, with a copy, only if the string does not have contiguous UTF-8.
        var code = unsafe value.utf8.withContiguousStorageIfAvailable { unsafe bind(text: $0, at: index) }
        if code == nil {
            var value = value
            code = value.withUTF8 { unsafe bind(text: $0, at: index) }
        }
        try check(code ?? .outOfMemory)
    }

    @inline(__always)
    private func bind(text: UnsafeBufferPointer<UInt8>, at index: Int32) -> ResultCode {
        let text = UnsafeRawBufferPointer(text)
        if let kept = unsafe keep(text) {
            return unsafe handle.bindText(keeping: kept, at: index)
        }
        return unsafe handle.bindText(copying: text, at: index)
    }

    func bind(_ bytes: UnsafeRawBufferPointer, at index: Int32) throws(ColumnFault) {
        if let kept = unsafe keep(bytes) {
            return try check(unsafe handle.bindBlob(keeping: kept, at: index))
        }
        try check(unsafe handle.bindBlob(copying: bytes, at: index))
    }

    private func keep(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        guard let start = bytes.baseAddress, bytes.count <= Self.arenaSize - arenaUsed else { return nil }
        let kept = unsafe arena + arenaUsed
        unsafe kept.copyMemory(from: start, byteCount: bytes.count)
        arenaUsed += bytes.count
        return unsafe UnsafeRawBufferPointer(start: kept, count: bytes.count)
    }

    func bindNull(at index: Int32) throws(ColumnFault) {
        try check(handle.bindNull(at: index))
    }

    var parameterCount: Int { handle.parameterCount }

    /// Returns the index of a named parameter (with its prefix: ":name"), or nil if there is none.
    func parameterIndex(_ name: String) -> Int32? { handle.parameterIndex(name) }

    @inline(__always)
    private func check(_ code: ResultCode) throws(ColumnFault) {
        if code != .ok { throw code == .tooBig ? .tooBig : .sqlite(code.rawValue) }
    }

    /// Whether the statement only reads.
    var isReadOnly: Bool { handle.isReadOnly }

    // MARK: Running

    /// Returns true if there is a row, and false if the statement is done.
    func step() throws(ActiveObjectError) -> Bool {
        if interruption.isRequested { throw connection.stopped() }
        do {
            return try handle.step()
        } catch {
            throw connection.error(error, doing: "run", sql: sql)
        }
    }

    /// Runs the statement to its end and ignores its rows.
    func run() throws(ActiveObjectError) {
        while try step() {}
        rewind()
    }

    /// Prepares for the next run, for which all parameters must be bound again.
    func rewind() {
        handle.rewind()
        arenaUsed = 0
    }

    /// Prepares for the next run, and frees the bound values.
    func reset() {
        handle.rewind()
        handle.clearBindings()
        arenaUsed = 0
    }

    // MARK: Rows

    /// The number of columns. It is reliable only after the first `step`, because another connection may have changed
    /// the table.
    var columnCount: Int { handle.columnCount }

    func columnName(_ index: Int32) -> String { handle.columnName(index) }

    @inline(__always)
    func valueClass(_ index: Int32) -> ValueClass {
        switch handle.storageClass(index) {
        case .integer: .integer
        case .real: .real
        case .text: .text
        case .blob: .blob
        default: .null
        }
    }

    @inline(__always)
    func isNull(_ index: Int32) -> Bool {
        handle.storageClass(index) == .null
    }

    @inline(__always)
    func integer(_ index: Int32) throws(ColumnFault) -> Int64 {
        let value = unsafe handle.value(index)
        guard unsafe value.storageClass == .integer else { throw mismatch(index, wanted: .integer) }
        return unsafe value.integer
    }

    @inline(__always)
    func optionalInteger(_ index: Int32) throws(ColumnFault) -> Int64? {
        let value = unsafe handle.value(index)
        let found = unsafe value.storageClass
        if found == .integer { return unsafe value.integer }
        guard found == .null else { throw mismatch(index, wanted: .integer) }
        return nil
    }

    @inline(__always)
    func real(_ index: Int32) throws(ColumnFault) -> Double {
        let value = unsafe handle.value(index)
        let found = unsafe value.storageClass
        guard found == .real || found == .integer else { throw mismatch(index, wanted: .real) }
        return unsafe value.real
    }

    func text(_ index: Int32) throws(ColumnFault) -> String {
        let value = unsafe handle.value(index)
        guard unsafe value.storageClass == .text else { throw mismatch(index, wanted: .text) }
        guard let text = unsafe value.text else { throw outOfMemory(index) }
        // `String(validating:as:)` does the same, but looks up its types in the runtime in each call.
        do {
            return String(copying: try unsafe UTF8Span(validating: text.span))
        } catch {
            throw .notUTF8
        }
    }

    /// Returns a text of a few bytes without creating a `String`; nil if it is longer or is not text.
    @inline(__always)
    func shortText(_ index: Int32) -> ShortText? {
        let value = unsafe handle.value(index)
        guard unsafe value.storageClass == .text, let text = unsafe value.text, let start = text.baseAddress else {
            return nil
        }
        return unsafe ShortText(UnsafeRawPointer(start), count: text.count)
    }

    @inline(never)
    private func mismatch(_ index: Int32, wanted: ValueClass) -> ColumnFault {
        .found(valueClass(index), wanted: wanted)
    }

    /// Returns the error for a text that could not be allocated. SQLite resets its out-of-memory state only if the text
    /// is fetched through the statement, not through the value.
    @inline(never)
    private func outOfMemory(_ index: Int32) -> ColumnFault {
        unsafe _ = handle.text(index)
        return .sqlite(ResultCode.outOfMemory.rawValue)
    }

    /// Calls `body` with the bytes of a blob, which are valid until the next `step`.
    @inline(__always)
    func withBlob<Result>(_ index: Int32, body: (UnsafeRawBufferPointer) -> Result) throws(ColumnFault) -> Result {
        guard handle.storageClass(index) == .blob else { throw mismatch(index, wanted: .blob) }
        return unsafe body(handle.blob(index))
    }
}
