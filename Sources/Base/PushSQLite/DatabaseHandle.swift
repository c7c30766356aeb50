import CSQLite

/// A connection to a database file.
///
/// It is not `Sendable`: the owner uses it, its statements and their rows on one thread at a time. That is why SQLite's
/// mutexes are turned off. A statement may outlive its connection, but not run any more; SQLite closes the file with the
/// last statement. The connection is a class because it can be closed before it is released.
@safe
package final class DatabaseHandle {
    let pointer: OpaquePointer
    let hooks = Hooks()
    private var isOpen = true

    package enum Mode {
        case readWrite(creates: Bool)
        /// For a file that this process cannot write.
        case readOnly
        /// For a file that nobody can write. SQLite does not look for locks and a log.
        case immutable
    }

    /// Opens a file. SQLite may read the file only when the first statement runs.
    package init(path: String, mode: Mode) throws(SQLiteFailure) {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw SQLiteFailure(.cannotOpen, message: "the path is empty or contains a NUL")
        }
        var flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        switch mode {
        case .readWrite(creates: true): flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        case .readWrite(creates: false): flags |= SQLITE_OPEN_READWRITE
        case .readOnly: flags |= SQLITE_OPEN_READONLY
        case .immutable: flags |= SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
        }
        var opened: OpaquePointer?
        let code = unsafe sqlite3_open_v2(Self.fileName(for: path, mode: mode), &opened, flags, nil)
        guard code == SQLITE_OK, let pointer = unsafe opened else {
            let failure = unsafe SQLiteFailure(code, on: opened)
            unsafe sqlite3_close_v2(opened)
            throw failure
        }
        unsafe self.pointer = pointer
    }

    /// Returns the file name for SQLite. SQLite may be built to parse names that begin with "file:" as URIs with
    /// options, as Debian's is. Here a path is always a path.
    private static func fileName(for path: String, mode: Mode) -> String {
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

    /// Closes the connection, which must not be used afterwards. Returns false if a statement still exists; SQLite then
    /// closes the file with the last statement.
    @discardableResult
    package func close() -> Bool {
        guard isOpen else { return true }
        isOpen = false
        guard unsafe sqlite3_close(pointer) != SQLITE_OK else { return true }
        unsafe sqlite3_close_v2(pointer)
        return false
    }

    func failure(_ code: Int32) -> SQLiteFailure { unsafe SQLiteFailure(code, on: pointer) }

    // MARK: Settings

    /// A switch of a connection.
    package enum Option {
        /// Whether SQL is kept from damaging the file on purpose.
        case defensive
        /// Whether the schema may use functions that are not known to be harmless.
        case trustedSchema
        /// Whether a name in double quotes that does not exist is a text, in statements that change rows.
        case quotedTextsInStatements
        /// The same, in statements that change the schema.
        case quotedTextsInSchema
        /// Whether the last connection leaves the write-ahead log as it is when it is closed.
        case keepsLogAtClose
    }

    package func set(_ option: Option, to isOn: Bool) {
        let number =
            switch option {
            case .defensive: SQLITE_DBCONFIG_DEFENSIVE
            case .trustedSchema: SQLITE_DBCONFIG_TRUSTED_SCHEMA
            case .quotedTextsInStatements: SQLITE_DBCONFIG_DQS_DML
            case .quotedTextsInSchema: SQLITE_DBCONFIG_DQS_DDL
            case .keepsLogAtClose: SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE
            }
        unsafe _ = CSQLite_db_config(pointer, number, isOn ? 1 : 0)
    }

    /// Sets how long a statement waits while another program has locked the file. This replaces the busy handler.
    package func setBusyTimeout(milliseconds: Int32) {
        unsafe _ = sqlite3_busy_timeout(pointer, milliseconds)
    }

    // MARK: State

    package var isInTransaction: Bool { unsafe sqlite3_get_autocommit(pointer) == 0 }
    /// Whether the file can only be read, whatever the mode.
    package var isReadOnly: Bool { unsafe sqlite3_db_readonly(pointer, "main") == 1 }
    /// The number of rows that the last statement changed.
    package var changes: Int { Int(unsafe sqlite3_changes64(pointer)) }
    /// The number of rows changed since the connection was opened, including those changed by triggers and foreign
    /// keys.
    package var totalChanges: Int { Int(unsafe sqlite3_total_changes64(pointer)) }
    package var lastInsertedRowID: Int64 { unsafe sqlite3_last_insert_rowid(pointer) }

    package func hasColumn(_ column: String, in table: String) -> Bool {
        unsafe sqlite3_table_column_metadata(pointer, "main", table, column, nil, nil, nil, nil, nil) == SQLITE_OK
    }

    /// Returns the collation of a column, such as "BINARY"; nil if the column does not exist.
    package func collation(of column: String, in table: String) -> String? {
        var name: UnsafePointer<CChar>?
        let code = unsafe sqlite3_table_column_metadata(pointer, "main", table, column, nil, &name, nil, nil, nil)
        guard code == SQLITE_OK, let name = unsafe name else { return nil }
        return unsafe String(cString: name)
    }

    // MARK: Interruption

    /// A handle that interrupts the running statement from any thread, which SQLite allows for this one call. The
    /// caller must make sure that the connection is not closed meanwhile.
    package var interrupter: Interrupter { unsafe Interrupter(pointer: pointer) }

    @safe
    package struct Interrupter: @unchecked Sendable {
        // Unchecked: SQLite allows `sqlite3_interrupt` on any thread.
        fileprivate let pointer: OpaquePointer

        package func interrupt() {
            unsafe sqlite3_interrupt(pointer)
        }
    }
}
