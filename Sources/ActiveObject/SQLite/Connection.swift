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

    // What the callbacks of SQLite see; they come on the connection's thread.
    /// How long a statement waits for another program that holds the file.
    var patience = Duration.zero
    private var waitingSince: ContinuousClock.Instant?
    /// Pages that the log had after the last commit.
    private(set) var logPages = 0
    /// The size of the log when `tendLog` last waited for readers.
    var logPagesAtLastWait = 0
    /// Only this class begins and ends transactions: raw SQL that did would break the promise of `write`.
    private var isControlling = false

    /// A transaction has begun and not ended, as far as we know. SQLite may know better.
    private var hasTransaction = false
    /// What made SQLite undo the transaction by itself.
    private var undoing: ActiveObjectError?

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
        setCallbacks()
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

    // MARK: Transactions

    /// Begins a transaction that writes, unless the file is only read.
    func begin() throws {
        // Were one left open by what failed before, everybody after it would fail too.
        if isInTransaction { rollBack() }
        try control(isReadOnly ? "BEGIN" : "BEGIN IMMEDIATE")
        hasTransaction = true
    }

    /// Begins to read one state of the file: the one of now.
    func beginReading() throws {
        if isInTransaction { rollBack() }
        try control("BEGIN")
        // BEGIN by itself picks no state yet.
        try withStatement("SELECT 1 FROM sqlite_schema") { _ = try $0.step() }
    }

    /// Throws, and nothing was committed, if the call was cancelled or SQLite has undone the transaction already. What
    /// is cancelled later is committed all the same.
    func commit() throws {
        let first = undoing
        switch interruption.disarm() {
        case .cancelled: throw CancellationError()
        case .undone: throw undone(by: first)
        case .none: break
        }
        try control("COMMIT")
        hasTransaction = false
    }

    /// Undoes the transaction, if there still is one, whatever state it is in.
    func rollBack() {
        hasTransaction = false
        undoing = nil
        _ = interruption.disarm()
        guard isInTransaction else { return }
        // A statement in use would go on holding the state that it reads.
        var statement = unsafe sqlite3_next_stmt(handle, nil)
        while let one = unsafe statement {
            if unsafe sqlite3_stmt_busy(one) != 0 { unsafe sqlite3_reset(one) }
            unsafe statement = sqlite3_next_stmt(handle, one)
        }
        // All that SQLite could say against it is that it has been done.
        _ = try? control("ROLLBACK")
    }

    /// Undoes the transaction before its closure has ended. What the closure does from here on fails.
    func undo(because error: any Error) {
        rollBack()
        undoing = error as? ActiveObjectError ?? ActiveObjectError(.other, "\(error)")
        interruption.noteUndone()
    }

    /// Runs a statement that begins or ends a transaction or a savepoint, or sets what raw SQL must not. Returns the
    /// text that it answers with.
    @discardableResult
    func control(_ sql: String) throws -> String? {
        isControlling = true
        defer { isControlling = false }
        return try withStatement(sql) { statement in
            guard try statement.step() else { return nil }
            let answer = statement.valueClass(0) == .text ? try statement.text(0) : nil
            while try statement.step() {}
            return answer
        }
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
    var isInTransaction: Bool { unsafe sqlite3_get_autocommit(handle) == 0 }
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
        if hasTransaction, !isInTransaction, undoing == nil {
            undoing = error
            interruption.noteUndone()
        }
        return error
    }

    /// Why nothing more may run in this call.
    func stopped() -> ActiveObjectError {
        if interruption.reason == .undone { return undone(by: undoing) }
        return ActiveObjectError(.interrupted, "the task was cancelled: nothing more of it is done in \(path)")
    }

    private func undone(by error: ActiveObjectError?) -> ActiveObjectError {
        ActiveObjectError(
            error?.code ?? .other,
            """
            the transaction has been undone as a whole already, and nothing can be added to it; let the error that did \
            it leave the closure: \(error?.message ?? "unknown")
            """, table: error?.table, column: error?.column, resultCode: error?.resultCode)
    }
}

// MARK: - What SQLite calls

extension Connection {
    /// Steps of SQLite's machine between two questions whether to stop: well under a millisecond.
    private static let stepsBetweenQuestions: Int32 = 10_000

    private func setCallbacks() {
        // All of them come while a call into this connection runs, which is alive then.
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        // An interrupt between two statements is forgotten by SQLite; this one is not.
        unsafe sqlite3_progress_handler(
            handle, Self.stepsBetweenQuestions,
            { context in unsafe Connection.from(context).interruption.isRequested ? 1 : 0 }, context)
        unsafe _ = sqlite3_busy_handler(
            handle, { context, count in unsafe Connection.from(context).waits(afterTries: count) ? 1 : 0 }, context)
        unsafe _ = sqlite3_wal_hook(
            handle,
            { context, _, _, pages in
                unsafe Connection.from(context).logPages = Int(pages)
                return SQLITE_OK
            }, context)
        unsafe _ = sqlite3_set_authorizer(
            handle,
            { context, action, first, second, _, _ in
                switch action {
                case SQLITE_TRANSACTION, SQLITE_SAVEPOINT: break
                // A pragma with a value sets something.
                case SQLITE_PRAGMA where unsafe second != nil && Connection.isReserved(pragma: first): break
                default: return SQLITE_OK
                }
                return unsafe Connection.from(context).isControlling ? SQLITE_OK : SQLITE_DENY
            }, context)
    }

    private static func from(_ context: UnsafeMutableRawPointer?) -> Connection {
        unsafe Unmanaged<Connection>.fromOpaque(context!).takeUnretainedValue()
    }

    /// Another program holds the file. Waits a little; false when that has been done long enough.
    private func waits(afterTries count: Int32) -> Bool {
        let now = ContinuousClock.now
        if count == 0 { waitingSince = now }
        guard !interruption.isRequested, now - (waitingSince ?? now) < patience else { return false }
        usleep(count < 4 ? 1000 : 10_000)
        return true
    }

    /// What this class sets and readers and writers count on.
    private static func isReserved(pragma name: UnsafePointer<CChar>?) -> Bool {
        guard let name = unsafe name else { return false }
        return [
            "query_only", "journal_mode", "locking_mode", "foreign_keys", "synchronous", "trusted_schema",
            "cell_size_check",
        ].contains(unsafe String(cString: name).lowercased())
    }
}
