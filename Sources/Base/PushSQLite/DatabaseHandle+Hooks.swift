import CSQLite
import Glibc

/// An action of a statement that an authorizer must allow.
package enum GuardedAction: Equatable {
    /// The statement begins or ends a transaction.
    case transaction
    /// The statement begins or ends a savepoint.
    case savepoint
    /// The statement changes a setting: a pragma with an argument.
    case setting(pragma: String)
}

/// A change of one row, with its rowids.
package enum RowChange: Equatable {
    case inserted(Int64)
    case removed(Int64)
    case updated(from: Int64, to: Int64)
}

/// A change of the stack of savepoints. Savepoints count from 0.
package enum SavepointChange: Equatable {
    case created(Int)
    case released(Int)
    case rolledBack(to: Int)
}

extension DatabaseHandle {
    /// The functions that SQLite calls during a call into the connection, on its thread. The connection owns them.
    @safe
    final class Hooks {
        fileprivate var mustStop: (() -> Bool)?
        fileprivate var waits: ((_ tries: Int32) -> Bool)?
        fileprivate var committed: ((_ pagesInLog: Int) -> Void)?
        fileprivate var allows: ((GuardedAction) -> Bool)?
        fileprivate var rowChanged: ((RowChange, UnsafePointer<CChar>) -> Void)?
        var savepointChanged: ((SavepointChange) -> Void)?

        @unsafe
        static func from(_ context: UnsafeMutableRawPointer?) -> Hooks {
            unsafe Unmanaged<Hooks>.fromOpaque(context!).takeUnretainedValue()
        }
    }

    /// The hooks as SQLite passes them on.
    var context: UnsafeMutableRawPointer { unsafe Unmanaged.passUnretained(hooks).toOpaque() }

    /// Interrupts a running statement if `mustStop` returns true, which is called after every `steps` steps of SQLite's
    /// virtual machine.
    package func setProgressHandler(every steps: Int32, mustStop: @escaping () -> Bool) {
        hooks.mustStop = mustStop
        unsafe sqlite3_progress_handler(
            pointer, steps, { context in unsafe Hooks.from(context).mustStop?() == true ? 1 : 0 }, context)
    }

    /// Calls `waits` while another program has locked the file, with the number of earlier calls for this lock. If it
    /// returns false, the statement fails with ``ResultCode/busy``.
    package func setBusyHandler(_ waits: @escaping (_ tries: Int32) -> Bool) {
        hooks.waits = waits
        unsafe _ = sqlite3_busy_handler(
            pointer, { context, tries in unsafe Hooks.from(context).waits?(tries) == true ? 1 : 0 }, context)
    }

    /// Calls `committed` after each commit with the number of pages in the write-ahead log. Call this after
    /// `PRAGMA wal_autocheckpoint`, which would replace SQLite's only hook.
    package func onCommit(_ committed: @escaping (_ pagesInLog: Int) -> Void) {
        hooks.committed = committed
        unsafe _ = sqlite3_wal_hook(
            pointer,
            { context, _, _, pages in
                unsafe Hooks.from(context).committed?(Int(pages))
                return SQLITE_OK
            }, context)
    }

    /// Calls `allows` for each guarded action of a statement that is prepared. If it returns false, the statement is
    /// rejected with ``ResultCode/notAuthorized``.
    package func setAuthorizer(_ allows: @escaping (GuardedAction) -> Bool) {
        hooks.allows = allows
        unsafe _ = sqlite3_set_authorizer(
            pointer,
            { context, action, first, second, _, _ in
                let guarded: GuardedAction
                switch action {
                case SQLITE_TRANSACTION: guarded = .transaction
                case SQLITE_SAVEPOINT: guarded = .savepoint
                case SQLITE_PRAGMA:
                    guard unsafe second != nil, let name = unsafe first else { return SQLITE_OK }
                    guarded = .setting(pragma: unsafe String(cString: name))
                default: return SQLITE_OK
                }
                return unsafe Hooks.from(context).allows?(guarded) == false ? SQLITE_DENY : SQLITE_OK
            }, context)
    }

    /// Calls `changed` before each change of a row of the main database, with the name of its table, which is valid
    /// during the call. Returns false if SQLite was built without this hook.
    package func onRowChange(_ changed: @escaping (RowChange, _ table: UnsafePointer<CChar>) -> Void) -> Bool {
        unsafe hooks.rowChanged = changed
        let isThere = unsafe CSQLite_preupdate_hook(
            pointer,
            { context, _, operation, schema, table, old, new in
                guard let schema = unsafe schema, let table = unsafe table, unsafe strcmp(schema, "main") == 0 else {
                    return
                }
                let change: RowChange =
                    switch operation {
                    case SQLITE_INSERT: .inserted(new)
                    case SQLITE_DELETE: .removed(old)
                    default: .updated(from: old, to: new)
                    }
                unsafe Hooks.from(context).rowChanged?(change, table)
            }, context)
        return isThere != 0
    }

    package func stopRowChanges() {
        unsafe _ = CSQLite_preupdate_hook(pointer, nil, nil)
        unsafe hooks.rowChanged = nil
    }
}
