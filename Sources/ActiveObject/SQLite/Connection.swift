private import CSQLite
import Glibc

/// One connection to a database file and its prepared statements.
///
/// It is not `Sendable`: it lives inside the actor that made it, on that actor's thread, and nothing that is handed out
/// of there holds it. That is why SQLite's own locks are off.
@safe
final class Connection {
    let handle: OpaquePointer
    /// Takes note of what is changed, while somebody observes. Only a writer has one.
    var recorder: ChangeRecorder?
    let path: String
    let interruption: Interruption
    private var isOpen = true
    private var statements = StatementCache()

    let callbacks: ConnectionCallbacks
    /// The size of the log when `tendLog` last waited for readers.
    var logPagesAtLastWait = 0
    var transaction = TransactionState()

    enum Mode {
        case readWrite(creates: Bool)
        /// For a file that this process may not write.
        case readOnly
        /// For a file that nobody can write: neither locks nor a log are looked for.
        case immutable
    }

    init(path: String, mode: Mode, interruption: Interruption = Interruption()) throws(ActiveObjectError) {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw ActiveObjectError(.cannotOpen, "a path that is empty or has a NUL in it names no database")
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
        // What a hostile file or a typo in raw SQL could reach: none of it is needed here.
        unsafe _ = CSQLite_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1)
        unsafe _ = CSQLite_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        unsafe _ = CSQLite_db_config(handle, SQLITE_DBCONFIG_DQS_DML, 0)
        unsafe _ = CSQLite_db_config(handle, SQLITE_DBCONFIG_DQS_DDL, 0)
        unsafe callbacks.set(on: handle)
    }

    /// What SQLite is told to open. It may be built to take names that begin with "file:" for URIs, with options in
    /// them; here a path is a path.
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
        // The file is let go when that statement is.
        unsafe sqlite3_close_v2(handle)
    }

    // MARK: Statements

    /// Lends the statement for `sql`, which is prepared once, and takes it back reset.
    ///
    /// A fault of a value that `body` did not say the place of is one of the statement: no caller is to see less.
    func withStatement<Result>(_ sql: String, _ body: (Statement) throws -> Result) throws -> Result {
        let statement = try take(sql)
        defer { giveBack(statement) }
        do {
            return try body(statement)
        } catch let fault as ColumnFault {
            throw fault.error(in: sql)
        }
    }

    /// For who cannot work inside a closure. Each `take` needs its `giveBack`. Who needs a text whose statement is lent
    /// gets one of his own.
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

    /// For who changes how statements have to be prepared.
    func dropStatements() {
        statements.removeAll()
    }

    private func prepare(_ sql: String) throws(ActiveObjectError) -> Statement {
        var sql = sql
        var prepared: OpaquePointer?
        // SQLite would take a NUL for the end and leave the rest out.
        guard !sql.utf8.contains(0) else {
            throw ActiveObjectError(.badSQL, "cannot prepare: there is a NUL in the SQL")
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
            throw ActiveObjectError(.badSQL, "there is no statement in \"\(sql.shownSQL)\"")
        }
        guard !hasMore else {
            unsafe sqlite3_finalize(statement)
            throw ActiveObjectError(
                .badSQL, "there is more than one statement in \"\(sql.shownSQL)\"; run one at a time")
        }
        return unsafe Statement(statement, sql: sql, connection: self)
    }

    /// Whether there is more than blanks and comments.
    private func hasStatement(_ text: UnsafePointer<CChar>, _ count: Int32) -> Bool {
        guard count > 0 else { return false }
        var prepared: OpaquePointer?
        let code = unsafe sqlite3_prepare_v3(handle, text, count, 0, &prepared, nil)
        unsafe sqlite3_finalize(prepared)
        return unsafe code != SQLITE_OK || prepared != nil
    }

    /// Runs statements without parameters and without rows of interest, one after the other.
    func run(_ sql: String) throws(ActiveObjectError) {
        if interruption.isRequested { throw stopped() }
        let code = unsafe sqlite3_exec(handle, sql, nil, nil, nil)
        if code != SQLITE_OK { throw failure(code, doing: "run", sql: sql) }
    }

    // MARK: State

    /// The number of the row that the INSERT which ran last has inserted. Nil if it inserted none: the table may say ON
    /// CONFLICT IGNORE, or a trigger RAISE(IGNORE), and the number that SQLite has is that of another row.
    var insertedID: Int64? {
        unsafe sqlite3_changes64(handle) == 0 ? nil : sqlite3_last_insert_rowid(handle)
    }

    /// Rows that the last statement changed.
    var changes: Int { Int(unsafe sqlite3_changes64(handle)) }
    /// Rows that were changed since the connection was opened, by triggers and references too.
    var totalChanges: Int { Int(unsafe sqlite3_total_changes64(handle)) }
    var isReadOnly: Bool { unsafe sqlite3_db_readonly(handle, "main") == 1 }
    var cachedStatementCount: Int { statements.count }
    /// How often a statement was lent.
    var uses: UInt64 { statements.uses }

    /// By which rule a column's texts are compared, as "BINARY"; nil if there is no such column.
    func collation(of column: String, in table: String) -> String? {
        var name: UnsafePointer<CChar>?
        let code = unsafe sqlite3_table_column_metadata(handle, "main", table, column, nil, &name, nil, nil, nil)
        guard code == SQLITE_OK, let name = unsafe name else { return nil }
        return unsafe String(cString: name)
    }

    /// Stops what runs, from any thread; SQLite says so of this one call. The caller sees to it that the connection is
    /// not closed meanwhile.
    var interrupter: Interrupter { unsafe Interrupter(handle: handle) }

    @safe
    struct Interrupter: @unchecked Sendable {
        // Unchecked: `sqlite3_interrupt` is made for other threads.
        fileprivate let handle: OpaquePointer

        func interrupt() {
            unsafe sqlite3_interrupt(handle)
        }
    }

    // MARK: Errors

    /// The error for a result code, with what SQLite says of it.
    func failure(_ code: Int32, doing action: String, sql: String? = nil) -> ActiveObjectError {
        // Not every way on which SQLite reports an error keeps what the system said.
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
