import Glibc
import PushSQLite

/// Records the rows that a writer's transactions change, while there are observers.
///
/// SQLite's update hook is not sufficient: it does not report rows when `DELETE` empties a whole table, rows that
/// `REPLACE` removes, and the old key of a row whose key changes. The pre-update hook reports all of these. But it
/// reports a row before it is written, so the changes of a statement that fails halfway, and of a savepoint that is
/// rolled back, must be removed again. A virtual table makes this possible: each transaction writes to it first, and
/// SQLite then reports to it every savepoint of the transaction, including those that SQLite opens around statements.
///
/// Without observers, a transaction costs one check of the feed, and a row costs nothing.
@safe
final class ChangeRecorder: TransactionRecorder {
    private let feed: ChangeFeed
    var log = ChangeLog(limit: ChangeFeed.keyLimit)
    /// The tables that are recorded in this transaction.
    private var scope = ChangeFeed.Scope.nothing
    private var hasModule = false
    private var isHooked = false
    private var changesBefore = 0
    /// The tables that the hook has reported so far, by SQLite's names, and whether they are in `scope`.
    private var tables: [(name: [CChar], isWanted: Bool)] = []
    private var lastTable = 0
    private var roots = TableRoots()

    /// The virtual table to which each recorded transaction writes.
    private static let savepointTable = "active_object_savepoints"
    /// The maximum number of table names that are kept for the next transaction.
    private static let tableLimit = 1000

    init(feed: ChangeFeed) {
        self.feed = feed
    }

    // MARK: Transactions

    /// Must be called when a transaction has begun, before it does anything.
    func begin(on connection: Connection) throws {
        let wanted = feed.scope
        changesBefore = connection.totalChanges
        // Limit the memory for tables that no longer exist.
        if wanted != scope || tables.count > Self.tableLimit {
            tables = []
            lastTable = 0
            scope = wanted
        }
        guard wanted != .nothing else {
            if isHooked { removeHook(from: connection) }
            return
        }
        if !isHooked, !addHook(to: connection) {
            scope = .nothing
            return
        }
        log.begin()
        try roots.begin(on: connection)
        try connection.withStatement("INSERT INTO \(Self.savepointTable) VALUES (NULL)") { try $0.run() }
        changesBefore = connection.totalChanges
    }

    /// Must be called when the transaction is committed.
    func committed(on connection: Connection) {
        if scope == .nothing {
            // The observer started during the transaction, or SQLite was built without the hook: the changes are
            // unknown.
            guard connection.totalChanges != changesBefore, feed.scope != .nothing else { return }
            return feed.publish(ChangeFeed.Commit(scope: .nothing, changes: [:]))
        }
        var changes: [String: ChangeSet] = [:]
        for (table, change) in log.netEffect() {
            let name = String(decoding: tables[table].name.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
            changes[name] = hasKeys(change, of: name, on: connection) ? change : .unknown
        }
        guard let changes = try? roots.committed(changes, on: connection), log.isComplete else {
            return feed.publish(ChangeFeed.Commit(scope: .nothing, changes: [:]))
        }
        // Publish also without a relevant change: an observer that started meanwhile may need to know about other
        // tables.
        guard connection.totalChanges != changesBefore || !changes.isEmpty else { return }
        feed.publish(ChangeFeed.Commit(scope: scope, changes: changes))
    }

    /// Returns whether the keys in `change` are rowids. SQLite reports the rows of a table without rowids as row 0.
    private func hasKeys(_ change: ChangeSet, of table: String, on connection: Connection) -> Bool {
        guard change.inserted.contains(0) || change.updated.contains(0) || change.removed.contains(0)
        else {
            return true
        }
        let sql = "SELECT wr FROM pragma_table_list WHERE schema = 'main' AND name = ?1"
        let isWithoutKeys = try? connection.withStatement(sql) { statement in
            try statement.bind(table, at: 1)
            return try statement.step() ? try statement.integer(0) != 0 : true
        }
        return isWithoutKeys == false
    }

    // MARK: Pre-update hook

    private func addHook(to connection: Connection) -> Bool {
        // The recorder outlives the connection, which calls it only while it is open.
        if !hasModule {
            let isAdded = connection.database.addSavepointTable(named: Self.savepointTable) { [unowned self] change in
                switch change {
                case .created(let number): log.savepoint(number)
                case .released(let number): log.release(number)
                case .rolledBack(to: let number): log.rollBack(to: number)
                }
            }
            guard isAdded else { return false }
            hasModule = true
        }
        isHooked = unsafe connection.database.onRowChange { [unowned self] change, table in
            unsafe note(change, table: table)
        }
        guard isHooked else { return false }
        // A `DELETE` without `WHERE` was prepared to empty the table without visiting its rows.
        connection.dropStatements()
        return true
    }

    private func removeHook(from connection: Connection) {
        connection.database.stopRowChanges()
        isHooked = false
        connection.dropStatements()
    }

    @unsafe
    private func note(_ change: RowChange, table name: UnsafePointer<CChar>) {
        let table = unsafe index(of: name)
        guard tables[table].isWanted else { return }
        log.note(change, in: table)
    }

    /// Returns the index of a table. Most often it is the same table as in the last call.
    @unsafe
    private func index(of name: UnsafePointer<CChar>) -> Int {
        if lastTable < tables.count, unsafe isName(name, of: lastTable) { return lastTable }
        if let index = tables.indices.first(where: { unsafe isName(name, of: $0) }) {
            lastTable = index
            return index
        }
        let text = unsafe UnsafeBufferPointer(start: name, count: strlen(name) + 1)
        let isWanted = scope.covers(unsafe String(cString: name).lowercased())
        tables.append((name: unsafe Array(text), isWanted: isWanted))
        lastTable = tables.count - 1
        return lastTable
    }

    @unsafe
    private func isName(_ name: UnsafePointer<CChar>, of table: Int) -> Bool {
        unsafe tables[table].name.withUnsafeBufferPointer { known in
            guard let known = known.baseAddress else { return false }
            return unsafe strcmp(name, known) == 0
        }
    }
}
