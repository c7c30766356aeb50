private import CSQLite
import Glibc

/// A connection to a database file, with its prepared statements.
///
/// It is not `Sendable`: it belongs to the actor that created it and is used on that actor's thread only. That is why
/// SQLite's mutexes are turned off.
@safe
final class Connection {
    let handle: OpaquePointer
    /// Records changes while there are observers. Only a writer has one.
    var recorder: ChangeRecorder?
    let path: String
    let interruption: Interruption
    private var isOpen = true
    private var statements = StatementCache()

    let callbacks: ConnectionCallbacks
    /// The number of pages in the log when `tendLog` last waited for readers.
    var logPagesAtLastWait = 0
    var transaction = TransactionState()

    enum Mode {
        case readWrite(creates: Bool)
        /// For a file that this process cannot write.
        case readOnly
        /// For a file that nobody can write. SQLite does not look for locks and a log.
        case immutable
    }

    init(path: String, mode: Mode, interruption: Interruption = Interruption()) throws(ActiveObjectError) {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw ActiveObjectError(.cannotOpen, "cannot open a database: its path is empty or contains a NUL")
        }
        var flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        switch mode {
        case .readWrite(creates: true): flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        case .readWrite(creates: false): flags |= SQLITE_OPEN_READWRITE
        case .readOnly: flags |= SQLITE_OPEN_READONLY
        case .immutable: flags |= SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
        }
        var opened: OpaquePointer?
        let code = unsafe sqlite3_open_v2(Self.fileName(path, mode), &opened, flags, nil)
        guard let handle = unsafe opened else { throw ActiveObjectError(.outOfMemory, "cannot open \(path)") }
        unsafe self.handle = handle
        self.path = path
        self.interruption = interruption
        callbacks = ConnectionCallbacks(interruption: interruption)
        guard code == SQLITE_OK else {
            let error = failure(code, doing: "open \(path)")
            unsafe sqlite3_close_v2(handle)
            isOpen = false
            throw error
        }
        // These features could be reached by a hostile file or a typo in raw SQL. This library does not need them.
        unsafe _ = CSQLite_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1)
        unsafe _ = CSQLite_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        unsafe _ = CSQLite_db_config(handle, SQLITE_DBCONFIG_DQS_DML, 0)
        unsafe _ = CSQLite_db_config(handle, SQLITE_DBCONFIG_DQS_DDL, 0)
        unsafe callbacks.set(on: handle)
    }

    /// Returns the file name for SQLite. SQLite may be built to parse names that begin with "file:" as URIs with
    /// options. Here a path is always a path.
    private static func fileName(_ path: String, _ mode: Mode) -> String {
        guard case .immutable = mode else { return path.hasPrefix("file:") ? "./" + path : path }
        var name = "file:"
        for byte in path.utf8 {
            switch UInt8(byte) {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
                name.unicodeScalars.append(Unicode.Scalar(byte))
            case UInt8(ascii: "/") where name != "file:/":
                name += "/"
            default:
                let digits = String(byte, radix: 16)
                name += digits.utf8.count == 1 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return name + "?immutable=1"
    }

    deinit {
        close()
    }

    func close() {
        guard isOpen else { return }
        isOpen = false
        statements.removeAll()
        guard unsafe sqlite3_close(handle) != SQLITE_OK else { return }
        assertionFailure("a statement of \(path) outlived its connection")
        // SQLite closes the file when that statement is finalized.
        unsafe sqlite3_close_v2(handle)
    }

    // MARK: Statements

    /// Calls `body` with the cached statement for `sql`, and resets the statement afterwards.
    ///
    /// A `ColumnFault` that `body` throws becomes an error about the statement, so that callers only see
    /// `ActiveObjectError`.
    func withStatement<Result>(_ sql: String, _ body: (Statement) throws -> Result) throws -> Result {
        let statement = try take(sql)
        defer { giveBack(statement) }
        do {
            return try body(statement)
        } catch let fault as ColumnFault {
            throw fault.error(in: sql)
        }
    }

    /// Returns the statement for `sql`, for callers that cannot use a closure. Each `take` needs a `giveBack`. If the
    /// cached statement is in use, a new one is prepared.
    func take(_ sql: String) throws(ActiveObjectError) -> Statement {
        if let statement = statements.take(sql) { return statement }
        let statement = try prepare(sql)
        statements.add(statement)
        return statement
    }

    func giveBack(_ statement: Statement) {
        statement.reset()
        statement.isLent = false
    }

    /// Removes all cached statements, for callers that change how statements must be prepared.
    func dropStatements() {
        statements.removeAll()
    }

    private func prepare(_ sql: String) throws(ActiveObjectError) -> Statement {
        var sql = sql
        var prepared: OpaquePointer?
        // SQLite would stop at a NUL and ignore the rest.
        guard !sql.utf8.contains(0) else {
            throw ActiveObjectError(.badSQL, "cannot prepare: the SQL contains a NUL")
        }
        var hasMore = false
        let code = sql.withUTF8 { text in
            guard let count = Int32(exactly: text.count) else { return SQLITE_TOOBIG }
            return unsafe text.withMemoryRebound(to: CChar.self) { text in
                var rest: UnsafePointer<CChar>?
                let code = unsafe sqlite3_prepare_v3(
                    handle, text.baseAddress, count, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, &rest)
                if code == SQLITE_OK, let rest = unsafe rest, let start = text.baseAddress {
                    unsafe hasMore = hasStatement(rest, count - Int32(rest - start))
                }
                return code
            }
        }
        guard code == SQLITE_OK else { throw failure(code, doing: "prepare", sql: sql) }
        guard let statement = unsafe prepared else {
            throw ActiveObjectError(.badSQL, "no statement in \"\(sql.shownSQL)\"")
        }
        guard !hasMore else {
            unsafe sqlite3_finalize(statement)
            throw ActiveObjectError(
                .badSQL, "more than one statement in \"\(sql.shownSQL)\"; run one at a time")
        }
        return unsafe Statement(statement, sql: sql, connection: self)
    }

    /// Returns whether the text contains more than whitespace and comments.
    private func hasStatement(_ text: UnsafePointer<CChar>, _ count: Int32) -> Bool {
        guard count > 0 else { return false }
        var prepared: OpaquePointer?
        let code = unsafe sqlite3_prepare_v3(handle, text, count, 0, &prepared, nil)
        unsafe sqlite3_finalize(prepared)
        return unsafe code != SQLITE_OK || prepared != nil
    }

    /// Runs statements without parameters one after the other, and ignores their rows.
    func run(_ sql: String) throws(ActiveObjectError) {
        if interruption.isRequested { throw stopped() }
        let code = unsafe sqlite3_exec(handle, sql, nil, nil, nil)
        if code != SQLITE_OK { throw failure(code, doing: "run", sql: sql) }
    }

    // MARK: State

    /// The rowid that the last INSERT inserted. Nil if it inserted none, because of ON CONFLICT IGNORE or
    /// RAISE(IGNORE); then SQLite's last rowid is that of another row.
    var insertedID: Int64? {
        unsafe sqlite3_changes64(handle) == 0 ? nil : sqlite3_last_insert_rowid(handle)
    }

    /// The number of rows that the last statement changed.
    var changes: Int { Int(unsafe sqlite3_changes64(handle)) }
    /// The number of rows changed since the connection was opened, including those changed by triggers and foreign
    /// keys.
    var totalChanges: Int { Int(unsafe sqlite3_total_changes64(handle)) }
    var isReadOnly: Bool { unsafe sqlite3_db_readonly(handle, "main") == 1 }
    var cachedStatementCount: Int { statements.count }
    /// The number of times that a statement was lent.
    var uses: UInt64 { statements.uses }

    /// Returns the collation of a column, such as "BINARY"; nil if the column does not exist.
    func collation(of column: String, in table: String) -> String? {
        var name: UnsafePointer<CChar>?
        let code = unsafe sqlite3_table_column_metadata(handle, "main", table, column, nil, &name, nil, nil, nil)
        guard code == SQLITE_OK, let name = unsafe name else { return nil }
        return unsafe String(cString: name)
    }

    /// A handle that interrupts the running statement from any thread, which SQLite allows for this one call. The
    /// caller must make sure that the connection is not closed meanwhile.
    var interrupter: Interrupter { unsafe Interrupter(handle: handle) }

    @safe
    struct Interrupter: @unchecked Sendable {
        // Unchecked: SQLite allows `sqlite3_interrupt` on any thread.
        fileprivate let handle: OpaquePointer

        func interrupt() {
            unsafe sqlite3_interrupt(handle)
        }
    }

    // MARK: Errors

    /// Returns the error for a result code, with SQLite's message.
    func failure(_ code: Int32, doing action: String, sql: String? = nil) -> ActiveObjectError {
        // SQLite does not record the system's error number on every path.
        let last = errno
        let kept = unsafe sqlite3_system_errno(handle)
        let said = unsafe sqlite3_errmsg(handle).map { unsafe String(cString: $0) } ?? "no message"
        let error = ActiveObjectError(
            result: code, systemError: kept == 0 && code & 0xff == SQLITE_IOERR ? last : kept,
            message: said, action: action, path: path,
            sql: sql
        ) { table, column in
            unsafe sqlite3_table_column_metadata(self.handle, "main", table, column, nil, nil, nil, nil, nil)
                == SQLITE_OK
        }
        noteIfUndone(by: error)
        return error
    }
}
