private import CSQLite

/// A virtual table that is there without being made, takes any row and keeps none.
///
/// Once it has been written to, SQLite tells it of each savepoint of the transaction, and it tells the recorder's log.
enum SavepointTable {
    static let name = "active_object_savepoints"

    /// - Parameter context: an unretained `ChangeRecorder`, which outlives the connection.
    @unsafe
    static func add(to connection: Connection, context: UnsafeMutableRawPointer) -> Bool {
        unsafe sqlite3_create_module_v2(connection.handle, name, module, context, nil) == SQLITE_OK
    }

    /// For the life of the process, and never changed: connections come and go.
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
        // There is no way to read it.
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
