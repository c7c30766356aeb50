import CSQLite

extension DatabaseHandle {
    /// Adds a virtual table that exists without being created, accepts any row and keeps none. Returns false if it
    /// cannot be added.
    ///
    /// Once a transaction has written to it, SQLite reports each savepoint of the transaction to `changed`, including
    /// those that SQLite opens around statements.
    package func addSavepointTable(named name: String, changed: @escaping (SavepointChange) -> Void) -> Bool {
        hooks.savepointChanged = changed
        return unsafe sqlite3_create_module_v2(pointer, name, SavepointTable.module, context, nil) == SQLITE_OK
    }
}

/// The methods of the virtual table.
private enum SavepointTable {
    /// They live as long as the process and never change, because connections come and go.
    nonisolated(unsafe) static let module: UnsafePointer<sqlite3_module> = {
        var module = sqlite3_module()
        module.iVersion = 2
        unsafe module.xConnect = { handle, context, _, _, table, _ in
            let code = unsafe sqlite3_declare_vtab(handle, "CREATE TABLE t(c)")
            guard code == SQLITE_OK else { return code }
            let made = UnsafeMutablePointer<CSQLite_table>.allocate(capacity: 1)
            unsafe made.initialize(to: CSQLite_table(base: sqlite3_vtab(), context: context))
            unsafe table?.pointee = unsafe UnsafeMutableRawPointer(made).assumingMemoryBound(to: sqlite3_vtab.self)
            return SQLITE_OK
        }
        unsafe module.xDisconnect = { table in
            unsafe UnsafeMutableRawPointer(table)?.assumingMemoryBound(to: CSQLite_table.self).deallocate()
            return SQLITE_OK
        }
        // The table cannot be read.
        unsafe module.xBestIndex = { _, _ in SQLITE_CONSTRAINT }
        unsafe module.xUpdate = { _, _, _, _ in SQLITE_OK }
        unsafe module.xBegin = { _ in SQLITE_OK }
        unsafe module.xSync = { _ in SQLITE_OK }
        unsafe module.xCommit = { _ in SQLITE_OK }
        unsafe module.xRollback = { _ in SQLITE_OK }
        unsafe module.xSavepoint = { table, number in unsafe report(.created(Int(number)), of: table) }
        unsafe module.xRelease = { table, number in unsafe report(.released(Int(number)), of: table) }
        unsafe module.xRollbackTo = { table, number in unsafe report(.rolledBack(to: Int(number)), of: table) }
        let kept = UnsafeMutablePointer<sqlite3_module>.allocate(capacity: 1)
        unsafe kept.initialize(to: module)
        return unsafe UnsafePointer(kept)
    }()

    @unsafe
    private static func report(_ change: SavepointChange, of table: UnsafeMutablePointer<sqlite3_vtab>?) -> Int32 {
        let table = unsafe UnsafeMutableRawPointer(table)?.assumingMemoryBound(to: CSQLite_table.self)
        guard let context = unsafe table?.pointee.context else { return SQLITE_OK }
        unsafe DatabaseHandle.Hooks.from(context).savepointChanged?(change)
        return SQLITE_OK
    }
}
