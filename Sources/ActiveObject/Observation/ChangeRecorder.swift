private import CSQLite
private import Glibc

/// Takes note of the rows that a writer's transactions change, while somebody observes.
///
/// SQLite's update hook is not enough: it is silent when `DELETE` empties a whole table at once, when `REPLACE` removes
/// the rows in its way, and about the old key of a row that changes its key. The pre-update hook tells of all that. It
/// tells before the row is written, so a statement that fails halfway, and a savepoint that is rolled back, must take
/// what it told back. For that there is a virtual table that is written to at the beginning of each transaction: SQLite
/// lets virtual tables know of the savepoints of their transaction, its own around statements among them.
///
/// Where nobody observes, a transaction pays for one look at the feed, and a row for nothing.
@safe
final class ChangeRecorder {
    private let feed: ChangeFeed
    var log = ChangeLog(limit: ChangeFeed.keyLimit)
    /// Of what note is taken in this transaction.
    private var scope = ChangeFeed.Scope.nothing
    private var isModuleThere = false
    private var isHooked = false
    private var changesBefore = 0
    /// The tables that were met so far, by the names that SQLite gives, and whether they are in `scope`.
    private var tables: [(name: [CChar], isWanted: Bool)] = []
    private var lastTable = 0
    private var roots = TableRoots()

    /// Names of tables that are kept from one transaction to the next.
    private static let tableLimit = 1000

    init(feed: ChangeFeed) {
        self.feed = feed
    }

    // MARK: The transaction

    /// To be called when a transaction has begun, before anything is done in it.
    func begin(on connection: Connection) throws {
        let wanted = feed.scope
        changesBefore = connection.totalChanges
        // Tables that came and went are forgotten some time.
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
        try connection.withStatement("INSERT INTO \(SavepointTable.name) VALUES (NULL)") { try $0.run() }
        changesBefore = connection.totalChanges
    }

    /// To be called when the transaction is in the file.
    func committed(on connection: Connection) {
        if scope == .nothing {
            // Who began to observe in the middle, or has a SQLite without the hook, learns as much as is known.
            guard connection.totalChanges != changesBefore, feed.scope != .nothing else { return }
            return feed.publish(ChangeFeed.Commit(scope: .nothing, changes: [:]))
        }
        var changes: [String: ChangeSet] = [:]
        for (table, change) in log.netEffect() {
            let name = String(decoding: tables[table].name.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
            changes[name] = hasKeys(name, change, on: connection) ? change : .unknown
        }
        guard let changes = try? roots.committed(changes, on: connection), log.isComplete else {
            return feed.publish(ChangeFeed.Commit(scope: .nothing, changes: [:]))
        }
        // Also when nothing of interest was changed: an observer that came meanwhile may be interested in the rest.
        guard connection.totalChanges != changesBefore || !changes.isEmpty else { return }
        feed.publish(ChangeFeed.Commit(scope: scope, changes: changes))
    }

    /// Rows of a table without row ids are all told of as row 0.
    private func hasKeys(_ table: String, _ change: ChangeSet, on connection: Connection) -> Bool {
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

    // MARK: The hook

    private func addHook(to connection: Connection) -> Bool {
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        if !isModuleThere {
            guard unsafe SavepointTable.add(to: connection, context: context) else { return false }
            isModuleThere = true
        }
        let isThere = unsafe CSQLite_preupdate_hook(
            connection.handle,
            { context, _, operation, schema, table, old, new in
                guard let context = unsafe context, let schema = unsafe schema, let table = unsafe table
                else { return }
                let recorder = unsafe Unmanaged<ChangeRecorder>.fromOpaque(context).takeUnretainedValue()
                guard unsafe strcmp(schema, "main") == 0 else { return }
                unsafe recorder.note(operation, table: table, old: old, new: new)
            }, context)
        guard isThere != 0 else { return false }
        isHooked = true
        // `DELETE` without `WHERE` was prepared to empty the table without looking at its rows.
        connection.dropStatements()
        return true
    }

    private func removeHook(from connection: Connection) {
        unsafe _ = CSQLite_preupdate_hook(connection.handle, nil, nil)
        isHooked = false
        connection.dropStatements()
    }

    @unsafe
    private func note(_ operation: Int32, table name: UnsafePointer<CChar>, old: Int64, new: Int64) {
        let table = unsafe index(of: name)
        guard tables[table].isWanted else { return }
        switch operation {
        case SQLITE_INSERT: log.note(.inserted(new), in: table)
        case SQLITE_DELETE: log.note(.removed(old), in: table)
        default: log.note(.updated(from: old, to: new), in: table)
        }
    }

    /// Mostly the same table as the last time.
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
