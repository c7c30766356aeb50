private import CSQLite

/// One connection to a database file and its prepared statements.
///
/// It is not `Sendable`: it lives inside the actor that made it, on that actor's thread, and nothing that is handed out
/// of there holds it. That is why SQLite's own locks are off.
@safe
final class Connection {
    private let handle: OpaquePointer
    private var isOpen = true
    /// Prepared statements by their text. One in use stays in here, marked; who needs the same text meanwhile gets one
    /// of their own.
    private var statements: [String: Statement] = [:]
    private var uses: UInt64 = 0
    private let path: String

    /// More would be texts that are made up as they go, which a cache does not help.
    static let statementLimit = 128

    enum Mode {
        case readWrite(creates: Bool)
        /// For a file that this process may not write.
        case readOnly
    }

    init(path: String, mode: Mode) throws(ActiveObjectError) {
        var flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        switch mode {
        case .readWrite(creates: true): flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        case .readWrite(creates: false): flags |= SQLITE_OPEN_READWRITE
        case .readOnly: flags |= SQLITE_OPEN_READONLY
        }
        var opened: OpaquePointer?
        let code = unsafe sqlite3_open_v2(path, &opened, flags, nil)
        guard let handle = unsafe opened else { throw ActiveObjectError(.outOfMemory, "cannot open \(path)") }
        unsafe self.handle = handle
        self.path = path
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
    }

    deinit {
        close()
    }

    func close() {
        guard isOpen else { return }
        isOpen = false
        statements.removeAll()
        let code = unsafe sqlite3_close(handle)
        assert(code == SQLITE_OK, "a statement of \(path) outlived its connection")
    }

    // MARK: Statements

    /// Lends the statement for `sql`, which is prepared once, and takes it back reset.
    func withStatement<Result>(_ sql: String, _ body: (Statement) throws -> Result) throws -> Result {
        let statement = try take(sql)
        defer { giveBack(statement) }
        return try body(statement)
    }

    /// For who cannot work inside a closure. Each `take` needs its `giveBack`.
    func take(_ sql: String) throws(ActiveObjectError) -> Statement {
        uses &+= 1
        if let statement = statements[sql] {
            guard statement.isLent else {
                statement.isLent = true
                statement.lastUse = uses
                return statement
            }
            return try prepare(sql)
        }
        let statement = try prepare(sql)
        if statements.count >= Self.statementLimit { dropOldest() }
        statement.isLent = true
        statement.lastUse = uses
        statements[sql] = statement
        return statement
    }

    func giveBack(_ statement: Statement) {
        statement.reset()
        statement.isLent = false
    }

    private func dropOldest() {
        let oldest = statements.lazy.filter { !$0.value.isLent }.min { $0.value.lastUse < $1.value.lastUse }
        if let oldest { statements.removeValue(forKey: oldest.key) }
    }

    private func prepare(_ sql: String) throws(ActiveObjectError) -> Statement {
        var sql = sql
        var prepared: OpaquePointer?
        var hasMore = false
        let code = sql.withUTF8 { text in
            // SQLite would take a NUL for the end and leave the rest out.
            guard unsafe !text.contains(0) else { return SQLITE_MISUSE }
            return unsafe text.withMemoryRebound(to: CChar.self) { text in
                var rest: UnsafePointer<CChar>?
                let code = unsafe sqlite3_prepare_v3(
                    handle, text.baseAddress, Int32(text.count), UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, &rest)
                if let rest = unsafe rest, let end = unsafe text.baseAddress.map({ unsafe $0 + text.count }) {
                    hasMore = unsafe UnsafeBufferPointer(start: rest, count: end - rest).contains {
                        $0 > 0x20 && $0 != UInt8(ascii: ";")
                    }
                }
                return code
            }
        }
        guard code == SQLITE_OK else { throw failure(code, doing: "prepare", sql: sql) }
        guard let statement = unsafe prepared else {
            throw ActiveObjectError(.badSQL, "there is no statement in \"\(sql)\"", sql: sql)
        }
        guard !hasMore else {
            unsafe sqlite3_finalize(statement)
            throw ActiveObjectError(
                .badSQL, "there is more than one statement in \"\(sql)\"; run one at a time", sql: sql)
        }
        return unsafe Statement(statement, sql: sql, connection: self)
    }

    /// Runs statements without parameters and without rows of interest, one after the other.
    func run(_ sql: String) throws(ActiveObjectError) {
        let code = unsafe sqlite3_exec(handle, sql, nil, nil, nil)
        if code != SQLITE_OK { throw failure(code, doing: "run", sql: sql) }
    }

    // MARK: State

    var lastInsertedID: Int64 { unsafe sqlite3_last_insert_rowid(handle) }
    /// Rows that the last statement changed.
    var changes: Int { Int(unsafe sqlite3_changes64(handle)) }
    /// Rows that were changed since the connection was opened, by triggers and references too.
    var totalChanges: Int { Int(unsafe sqlite3_total_changes64(handle)) }
    var isInTransaction: Bool { unsafe sqlite3_get_autocommit(handle) == 0 }

    func setBusyTimeout(milliseconds: Int32) {
        unsafe _ = sqlite3_busy_timeout(handle, milliseconds)
    }

    /// Copies what the log holds into the file. `mode` is one of `SQLITE_CHECKPOINT_…`. Returns the frames in the log
    /// and those that were copied; less were copied than there are if a reader still needs the rest.
    func checkpoint(mode: Int32) throws(ActiveObjectError) -> (inLog: Int, copied: Int) {
        var inLog: Int32 = 0
        var copied: Int32 = 0
        let code = unsafe sqlite3_wal_checkpoint_v2(handle, nil, mode, &inLog, &copied)
        guard code == SQLITE_OK else { throw failure(code, doing: "checkpoint") }
        return (Int(inLog), Int(copied))
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

    /// The error for a result code, with what SQLite says of it.
    func failure(_ code: Int32, doing action: String, sql: String? = nil) -> ActiveObjectError {
        let said = unsafe sqlite3_errmsg(handle).map { unsafe String(cString: $0) } ?? "no message"
        return ActiveObjectError(result: code, message: said, action: action, path: path, sql: sql)
    }
}
