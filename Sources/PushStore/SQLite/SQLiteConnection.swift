private import CSQLite

/// A connection to one database file, for handwritten SQL. The owner confines it to one thread at a time.
@safe
final class SQLiteConnection {
    let path: String
    private let handle: OpaquePointer
    private let logSize = LogSize()
    /// The number of `sqlite3_step` calls. Tests compare it to measure the cost of an operation.
    fileprivate(set) var steps: UInt64 = 0

    /// The value that the write-ahead log hook sets.
    private final class LogSize {
        var pages = 0
    }

    /// The number of milliseconds that a statement waits while another program has locked the file.
    private static let patience: CInt = 5000

    init(_ path: String, pageSize: Int = 8192, cachePages: Int = 512) throws(StoreError) {
        self.path = path
        var handle: OpaquePointer?
        let flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        let result = unsafe sqlite3_open_v2(path, &handle, flags, nil)
        guard result == SQLITE_OK, let opened = unsafe handle else {
            let error = unsafe Self.error(result, handle, "open", path)
            unsafe sqlite3_close_v2(handle)
            throw error
        }
        unsafe self.handle = opened
        unsafe sqlite3_extended_result_codes(opened, 1)
        unsafe sqlite3_busy_timeout(opened, Self.patience)
        try run("PRAGMA page_size = \(pageSize)")
        try run("PRAGMA cache_size = \(cachePages)")
    }

    deinit {
        unsafe sqlite3_close_v2(handle)
    }

    /// Executes statements that have no parameters and whose rows are not needed.
    func run(_ sql: String) throws(StoreError) {
        let result = unsafe sqlite3_exec(handle, sql, nil, nil, nil)
        guard result == SQLITE_OK else { throw error(result, String(sql.prefix(60))) }
    }

    func prepare(_ sql: StaticString) throws(StoreError) -> SQLiteStatement {
        var statement: OpaquePointer?
        let result = unsafe sqlite3_prepare_v3(
            handle, UnsafeRawPointer(sql.utf8Start).assumingMemoryBound(to: CChar.self), -1,
            UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard result == SQLITE_OK, let prepared = unsafe statement else { throw error(result, "prepare \(sql)") }
        return unsafe SQLiteStatement(prepared, of: self)
    }

    var isInTransaction: Bool { unsafe sqlite3_get_autocommit(handle) == 0 }

    // MARK: The write-ahead log

    /// The number of pages in the write-ahead log after the last commit of this connection; 0 until `followLog` is
    /// called.
    var logPages: Int { logSize.pages }

    /// Starts to update ``logPages``. Call this after `PRAGMA wal_autocheckpoint`, which would replace SQLite's only
    /// hook.
    func followLog() {
        // The object lives as long as the connection, and SQLite calls the hook only within calls of this connection.
        let context = unsafe Unmanaged.passUnretained(logSize).toOpaque()
        unsafe _ = sqlite3_wal_hook(
            handle,
            { context, _, _, pages in
                if let context = unsafe context {
                    unsafe Unmanaged<LogSize>.fromOpaque(context).takeUnretainedValue().pages = Int(pages)
                }
                return SQLITE_OK
            }, context)
    }

    enum CheckpointMode {
        /// Copies as many pages as possible without waiting for readers or writers.
        case passive
        /// Waits until no reader needs the log, so that the next commit writes at its start again.
        case restart
        /// Does the same as `restart`, and truncates the log file to zero bytes.
        case truncate
    }

    /// Copies pages of the write-ahead log into the database, as far as readers and writers allow.
    ///
    /// - Parameter patience: how many milliseconds `restart` and `truncate` wait for readers.
    func checkpoint(_ mode: CheckpointMode, patience: CInt = 0) throws(StoreError) {
        let number =
            switch mode {
            case .passive: SQLITE_CHECKPOINT_PASSIVE
            case .restart: SQLITE_CHECKPOINT_RESTART
            case .truncate: SQLITE_CHECKPOINT_TRUNCATE
            }
        unsafe sqlite3_busy_timeout(handle, patience)
        defer { unsafe sqlite3_busy_timeout(handle, Self.patience) }
        let result = unsafe sqlite3_wal_checkpoint_v2(handle, nil, number, nil, nil)
        guard result == SQLITE_OK || result & 0xff == SQLITE_BUSY else { throw error(result, "checkpoint") }
    }

    func error(_ result: CInt, _ action: String) -> StoreError {
        unsafe Self.error(result, handle, action, path)
    }

    private static func error(_ result: CInt, _ handle: OpaquePointer?, _ action: String, _ path: String) -> StoreError
    {
        let text = unsafe handle.map { unsafe sqlite3_errmsg($0) } ?? sqlite3_errstr(result)
        let words = unsafe text.map { unsafe String(cString: $0) } ?? "error \(result)"
        switch result & 0xff {
        case SQLITE_FULL:
            return StoreError(
                .full, "cannot write \(path): the disk is full; free space, acknowledged messages are not lost")
        case SQLITE_IOERR:
            let number = unsafe handle.map { unsafe sqlite3_system_errno($0) } ?? 0
            // A write beyond the file size limit fails with EFBIG, but SQLite does not always keep the error number.
            let isWrite = result == SQLITE_IOERR | 3 << 8 || result == SQLITE_IOERR | 19 << 8
            if number == 28 || number == 122 || number == 27 || isWrite && number == 0 {
                return StoreError(
                    .full,
                    "cannot write \(path): the disk is full, or a quota or file size limit is reached; free space, "
                        + "acknowledged messages are not lost")
            }
            return StoreError(
                .cannotWrite,
                "I/O error on \(path): \(action) failed (\(words), errno \(number)); check the disk and the "
                    + "system log")
        case SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_READONLY, SQLITE_AUTH:
            return StoreError(
                .cannotOpen,
                "cannot open \(path) for writing (\(words)); check that its directory exists and that this user may "
                    + "write to it")
        case SQLITE_CORRUPT, SQLITE_NOTADB:
            return StoreError(.damaged, "\(path) is damaged (\(words)); restore it from a backup")
        case SQLITE_BUSY, SQLITE_LOCKED:
            return StoreError(.cannotOpen, "\(path) is in use by another program (\(words)); stop that program first")
        default: return StoreError(.cannotWrite, "\(action) failed on \(path): \(words)")
        }
    }
}

/// A prepared statement. The owner resets it before it uses it again.
@safe
final class SQLiteStatement {
    private let handle: OpaquePointer
    private unowned let connection: SQLiteConnection
    private var kept: [[UInt8]] = []
    private var keptWords: [[UInt64]] = []
    /// The result of the first `bind` call that failed since the last reset.
    private var bindResult = SQLITE_OK

    fileprivate init(_ handle: OpaquePointer, of connection: SQLiteConnection) {
        unsafe self.handle = handle
        self.connection = connection
    }

    deinit {
        unsafe sqlite3_finalize(handle)
    }

    func bind(_ index: CInt, _ number: Int64) {
        note(unsafe sqlite3_bind_int64(handle, index, number))
    }

    func bind(_ index: CInt, _ number: UInt64) {
        bind(index, Int64(bitPattern: number))
    }

    /// Binds a blob without copying it. The statement keeps the array alive until it is reset.
    func bind(_ index: CInt, _ bytes: [UInt8]) {
        kept.append(bytes)
        unsafe bytes.withUnsafeBytes {
            note(unsafe CSQLite_bind_kept_blob(handle, index, $0.baseAddress, Int64($0.count)))
        }
    }

    /// Binds a blob of little-endian words without copying it.
    func bind(_ index: CInt, _ words: [UInt64]) {
        #if _endian(big)
        let words = words.map(\.littleEndian)
        #endif
        keptWords.append(words)
        unsafe words.withUnsafeBytes {
            note(unsafe CSQLite_bind_kept_blob(handle, index, $0.baseAddress, Int64($0.count)))
        }
    }

    func bind(_ index: CInt, _ text: String) {
        var text = text
        text.withUTF8 { note(unsafe CSQLite_bind_text(handle, index, $0.baseAddress, Int64($0.count))) }
    }

    /// Records a failed `bind`. The parameter would keep NULL or the value of the last run, so `step` refuses to run.
    private func note(_ result: CInt) {
        if result != SQLITE_OK, bindResult == SQLITE_OK { bindResult = result }
    }

    /// Advances to the next row and returns whether there is one. After an error the statement has already been reset.
    func step() throws(StoreError) -> Bool {
        guard bindResult == SQLITE_OK else { throw failure(bindResult, "binding a parameter") }
        connection.steps &+= 1
        switch unsafe sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let result: throw failure(result, "executing a statement")
        }
    }

    private func failure(_ result: CInt, _ action: String) -> StoreError {
        defer { reset() }
        return connection.error(result, action)
    }

    /// Runs the statement to its end and resets it.
    func run() throws(StoreError) {
        defer { reset() }
        while try step() {}
    }

    func reset() {
        unsafe sqlite3_reset(handle)
        bindResult = SQLITE_OK
        if !kept.isEmpty || !keptWords.isEmpty {
            unsafe sqlite3_clear_bindings(handle)
            kept.removeAll(keepingCapacity: true)
            keptWords.removeAll(keepingCapacity: true)
        }
    }

    func number(_ column: CInt) -> Int64 { unsafe sqlite3_column_int64(handle, column) }

    func word(_ column: CInt) -> UInt64 { UInt64(bitPattern: number(column)) }

    func isNull(_ column: CInt) -> Bool { unsafe sqlite3_column_type(handle, column) == SQLITE_NULL }

    func text(_ column: CInt) -> String {
        guard let text = unsafe sqlite3_column_text(handle, column) else { return "" }
        return unsafe String(
            decoding: UnsafeBufferPointer(start: text, count: Int(sqlite3_column_bytes(handle, column))), as: UTF8.self)
    }

    func blob(_ column: CInt) -> [UInt8] { unsafe withBlob(column) { unsafe [UInt8]($0) } }

    /// Calls `body` with the bytes of the blob, which are valid until it returns.
    func withBlob<Result>(_ column: CInt, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        let bytes = unsafe sqlite3_column_blob(handle, column)
        // If SQLite runs out of memory, it returns a length but no address.
        let count = unsafe bytes == nil ? 0 : Int(sqlite3_column_bytes(handle, column))
        return unsafe try body(UnsafeRawBufferPointer(start: bytes, count: count))
    }
}
