private import CSQLite

/// A virtual table that exists without being created, accepts any row and keeps none.
///
/// Once a transaction has written to it, SQLite reports each savepoint of the transaction to it. It passes them on to
/// the log of the recorder.
enum SavepointTable {
    static let name = "active_object_savepoints"

    /// - Parameter context: An unretained `ChangeRecorder`, which outlives the connection.
    @unsafe
    static func add(to connection: Connection, context: UnsafeMutableRawPointer) -> Bool {
        unsafe sqlite3_create_module_v2(connection.handle, name, module, context, nil) == SQLITE_OK
    }

    /// The methods of the module. They live as long as the process and never change, because connections come and go.
    nonisolated(unsafe) private static let module: UnsafePointer<sqlite3_module> = {
        var module = sqlite3_module()
        module.iVersion = 2
        unsafe module.xConnect = { handle, context, _, _, table, _ in
            let code = unsafe sqlite3_declare_vtab(handle, "CREATE TABLE t(c)")
            guard code == SQLITE_OK else { return code }
            let made = UnsafeMutablePointer<CSQLite_table>.allocate(capacity: 1)
            unsafe made.initialize(to: CSQLite_table(base: sqlite3_vtab(), context: context))
            unsafe table?.pointee = unsafe UnsafeMutableRawPointer(made).assumingMemoryBound(
                to: sqlite3_vtab.self)
            return SQLITE_OK
        }
        unsafe module.xDisconnect = { table in
            unsafe UnsafeMutableRawPointer(table)?.assumingMemoryBound(to: CSQLite_table.self)
                .deallocate()
            return SQLITE_OK
        }
        // The table cannot be read.
        unsafe module.xBestIndex = { _, _ in SQLITE_CONSTRAINT }
        unsafe module.xUpdate = { _, _, _, _ in SQLITE_OK }
        unsafe module.xBegin = { _ in SQLITE_OK }
        unsafe module.xSync = { _ in SQLITE_OK }
        unsafe module.xCommit = { _ in SQLITE_OK }
        unsafe module.xRollback = { _ in SQLITE_OK }
        unsafe module.xSavepoint = { table, number in unsafe change(table) { $0.savepoint(Int(number)) }
        }
        unsafe module.xRelease = { table, number in unsafe change(table) { $0.release(Int(number)) } }
        unsafe module.xRollbackTo = { table, number in
            unsafe change(table) { $0.rollBack(to: Int(number)) }
        }
        let kept = UnsafeMutablePointer<sqlite3_module>.allocate(capacity: 1)
        unsafe kept.initialize(to: module)
        return unsafe UnsafePointer(kept)
    }()

    @unsafe
    private static func change(
        _ table: UnsafeMutablePointer<sqlite3_vtab>?, _ body: (inout ChangeLog) -> Void
    ) -> Int32 {
        let table = unsafe UnsafeMutableRawPointer(table)?.assumingMemoryBound(to: CSQLite_table.self)
        guard let context = unsafe table?.pointee.context else { return SQLITE_OK }
        body(&(unsafe Unmanaged<ChangeRecorder>.fromOpaque(context).takeUnretainedValue()).log)
        return SQLITE_OK
    }
}
