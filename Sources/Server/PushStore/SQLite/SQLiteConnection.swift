import Glibc
import PushSQLite
import PushTime

/// A connection to one database file, for handwritten SQL. The owner confines it to one thread at a time.
final class SQLiteConnection {
    let path: String
    private let database: DatabaseHandle
    private let logSize = LogSize()
    /// The number of `step` calls. Tests compare it to measure the cost of an operation.
    fileprivate(set) var steps: UInt64 = 0

    /// The value that `followLog` updates.
    private final class LogSize {
        var pages = 0
    }

    /// The number of milliseconds that a statement waits while another program has locked the file.
    private static let patience: CInt = 5000

    init(
        _ path: String, mode: DatabaseHandle.Mode = .readWrite(creates: true), pageSize: Int = 8192,
        cachePages: Int = 512
    ) throws(StoreError) {
        self.path = path
        do {
            database = try DatabaseHandle(path: path, mode: mode)
        } catch {
            throw StoreError(error, doing: "open", path: path)
        }
        database.setBusyTimeout(milliseconds: Self.patience)
        try run("PRAGMA page_size = \(pageSize)")
        try run("PRAGMA cache_size = \(cachePages)")
    }

    /// Calls `body` with a connection that reads a file which no process uses, and its write-ahead log. The directory is
    /// not changed.
    static func reading<Result>(
        stopped path: String, _ body: (SQLiteConnection) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        var log = stat()
        let hasLog = unsafe stat(path + "-wal", &log) == 0 && log.st_size > 0
        // To read the log of a process that was killed, SQLite makes a file of shared memory.
        let memory = path + "-shm"
        let isNew = unsafe hasLog && access(memory, F_OK) != 0
        defer { if isNew { unsafe _ = unlink(memory) } }
        let connection = try SQLiteConnection(path, mode: hasLog ? .readOnly : .immutable)
        connection.keepLogAtClose()
        return try body(connection)
    }

    /// Executes statements that have no parameters and whose rows are not needed.
    func run(_ sql: String) throws(StoreError) {
        do {
            try database.execute(sql)
        } catch {
            throw StoreError(error, doing: String(sql.prefix(60)), path: path)
        }
    }

    func prepare(_ sql: StaticString) throws(StoreError) -> SQLiteStatement {
        do {
            return SQLiteStatement(try database.prepare(sql), of: self)
        } catch {
            throw StoreError(error, doing: "prepare \(sql)", path: path)
        }
    }

    /// Whether there is a table. Those of the registry are made at their first use.
    func has(_ table: String) throws(StoreError) -> Bool {
        let find = try prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?")
        find.bind(1, table)
        defer { find.reset() }
        return try find.step()
    }

    var isInTransaction: Bool { database.isInTransaction }

    // MARK: The write-ahead log

    /// The number of pages in the write-ahead log after the last commit of this connection; 0 until `followLog` is
    /// called.
    var logPages: Int { logSize.pages }

    /// Starts to update ``logPages``. Call this after `PRAGMA wal_autocheckpoint`, which would replace SQLite's only
    /// hook.
    func followLog() {
        database.onCommit { [logSize] in logSize.pages = $0 }
    }

    /// Leaves the write-ahead log as it is when this connection is the last one that is closed.
    func keepLogAtClose() { database.set(.keepsLogAtClose, to: true) }

    /// Copies pages of the write-ahead log into the database, as far as readers and writers allow.
    ///
    /// - Parameter patience: how many milliseconds `restart` and `truncate` wait for readers.
    func checkpoint(_ mode: CheckpointMode, patience: CInt = 0) throws(StoreError) {
        database.setBusyTimeout(milliseconds: patience)
        defer { database.setBusyTimeout(milliseconds: Self.patience) }
        do {
            try database.checkpoint(mode)
        } catch {
            throw StoreError(error, doing: "checkpoint", path: path)
        }
    }
}

extension StoreError {
    /// Creates the error for a failure of SQLite.
    init(_ failure: SQLiteFailure, doing action: String, path: String) {
        let words = failure.message
        switch failure.primary {
        case .full:
            self.init(.full, "cannot write \(path): the disk is full; free space, acknowledged messages are not lost")
        case .inputOutput:
            let number = failure.systemError
            // A write beyond the file size limit fails with EFBIG, but SQLite does not always keep the error number.
            let isWrite = failure.code == .writeFailed || failure.code == .lockFileGrowthFailed
            if [ENOSPC, EDQUOT, EFBIG].contains(number) || isWrite && number == 0 {
                self.init(
                    .full,
                    "cannot write \(path): the disk is full, or a quota or file size limit is reached; free space, "
                        + "acknowledged messages are not lost")
            } else {
                self.init(
                    .cannotWrite,
                    "I/O error on \(path): \(action) failed (\(words), errno \(number)); check the disk and the "
                        + "system log")
            }
        case .cannotOpen, .noPermission, .readOnly, .notAuthorized:
            self.init(
                .cannotOpen,
                "cannot open \(path) for writing (\(words)); check that its directory exists and that this user may "
                    + "write to it")
        case .corrupt, .notADatabase:
            self.init(.damaged, "\(path) is damaged (\(words)); restore it from a backup")
        case .busy, .locked, .lockingProtocol:
            self.init(.cannotOpen, "\(path) is in use by another program (\(words)); stop that program first")
        default: self.init(.cannotWrite, "\(action) failed on \(path): \(words)")
        }
    }
}

/// A prepared statement. The owner resets it before it uses it again.
final class SQLiteStatement {
    private let handle: StatementHandle
    private unowned let connection: SQLiteConnection
    private var kept: [[UInt8]] = []
    private var keptWords: [[UInt64]] = []
    /// The result of the first `bind` call that failed since the last reset.
    private var bindResult = ResultCode.ok

    fileprivate init(_ handle: consuming StatementHandle, of connection: SQLiteConnection) {
        self.handle = handle
        self.connection = connection
    }

    func bind(_ index: CInt, _ number: Int64) {
        note(handle.bind(number, at: index))
    }

    func bind(_ index: CInt, _ number: UInt64) {
        bind(index, Int64(bitPattern: number))
    }

    func bind(_ index: CInt, _ time: WallTime) {
        bind(index, time.milliseconds)
    }

    func bind(_ index: CInt, _ time: UnixSeconds) {
        bind(index, time.value)
    }

    /// Binds a blob without copying it. The statement keeps the array alive until it is reset.
    func bind(_ index: CInt, _ bytes: [UInt8]) {
        kept.append(bytes)
        unsafe bytes.withUnsafeBytes { note(unsafe handle.bindBlob(keeping: $0, at: index)) }
    }

    /// Binds a blob of little-endian words without copying it.
    func bind(_ index: CInt, _ words: [UInt64]) {
        #if _endian(big)
        let words = words.map(\.littleEndian)
        #endif
        keptWords.append(words)
        unsafe words.withUnsafeBytes { note(unsafe handle.bindBlob(keeping: $0, at: index)) }
    }

    func bind(_ index: CInt, _ text: String) {
        var text = text
        text.withUTF8 { note(unsafe handle.bindText(copying: UnsafeRawBufferPointer($0), at: index)) }
    }

    /// Records a failed `bind`. The parameter would keep NULL or the value of the last run, so `step` refuses to run.
    private func note(_ result: ResultCode) {
        if result != .ok, bindResult == .ok { bindResult = result }
    }

    /// Advances to the next row and returns whether there is one. After an error the statement has already been reset.
    func step() throws(StoreError) -> Bool {
        guard bindResult == .ok else { throw error(handle.failure(bindResult), doing: "binding a parameter") }
        connection.steps &+= 1
        do {
            return try handle.step()
        } catch {
            throw self.error(error, doing: "executing a statement")
        }
    }

    private func error(_ failure: SQLiteFailure, doing action: String) -> StoreError {
        reset()
        return StoreError(failure, doing: action, path: connection.path)
    }

    /// Runs the statement to its end and resets it.
    func run() throws(StoreError) {
        defer { reset() }
        while try step() {}
    }

    func reset() {
        handle.rewind()
        bindResult = .ok
        if !kept.isEmpty || !keptWords.isEmpty {
            handle.clearBindings()
            kept.removeAll(keepingCapacity: true)
            keptWords.removeAll(keepingCapacity: true)
        }
    }

    func number(_ column: CInt) -> Int64 { handle.integer(column) }

    func word(_ column: CInt) -> UInt64 { UInt64(bitPattern: number(column)) }

    /// Returns a time that the column stores in milliseconds.
    func time(_ column: CInt) -> WallTime { WallTime(milliseconds: number(column)) }

    /// Returns a time that the column stores in seconds.
    func seconds(_ column: CInt) -> UnixSeconds { UnixSeconds(number(column)) }

    func isNull(_ column: CInt) -> Bool { handle.storageClass(column) == .null }

    func text(_ column: CInt) -> String {
        unsafe handle.text(column).map { unsafe String(decoding: $0, as: UTF8.self) } ?? ""
    }

    func blob(_ column: CInt) -> [UInt8] { unsafe withBlob(column) { unsafe [UInt8]($0) } }

    /// Calls `body` with the bytes of the blob, which are valid until it returns.
    func withBlob<Result>(_ column: CInt, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        unsafe try body(handle.blob(column))
    }
}
