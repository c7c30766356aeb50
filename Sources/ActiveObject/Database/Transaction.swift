public import FoundationEssentials

/// A `write` that runs: everything that reads and everything that writes.
///
/// Not `Sendable`: it lives and ends on the writer's thread, inside the closure that it was given to.
public final class Transaction: Snapshot {
    /// Types whose tables were made in this transaction: known to be there once it is committed.
    private var prepared: [ObjectIdentifier] = []
    private var depth = 0
    /// What `save` writes into timestamps: one time for all that is saved in this transaction, in whole milliseconds,
    /// which each form of a date can hold. May be set: for imports, and for tests.
    public lazy var now = Date(timeIntervalSince1970: (Date.now.timeIntervalSince1970 * 1000).rounded(.down) / 1000)

    static func run<Result>(
        on connection: Connection, schema: SchemaState, _ body: (Transaction) throws -> Result
    ) throws -> Result {
        let transaction = Transaction(connection: connection, schema: schema)
        defer { transaction.end() }
        try connection.begin()
        do {
            try connection.recorder?.begin(on: connection)
            let result = try body(transaction)
            try connection.commit()
            connection.recorder?.committed(on: connection)
            schema.insert(transaction.prepared)
            return result
        } catch {
            connection.rollBack()
            transaction.doubtTable(after: error)
            throw error
        }
    }

    /// A part that can fail by itself: if `body` throws, what it did is undone, and the transaction goes on with what
    /// the caller makes of the error. Savepoints nest.
    ///
    /// Some errors undo the whole transaction: a full disk, no memory, a trigger that says so, a task that is cancelled.
    /// Then nothing more can be done in it, and `write` throws even if the closure does not.
    public func savepoint<Result>(_ body: () throws -> Result) throws -> Result {
        let connection = connection
        depth += 1
        defer { depth -= 1 }
        let name = "s\(depth)"
        let preparedBefore = prepared
        try connection.control("SAVEPOINT \(name)")
        do {
            let result = try body()
            try connection.control("RELEASE \(name)")
            return result
        } catch {
            prepared = preparedBefore
            guard !connection.interruption.isRequested else { throw error }
            do {
                try connection.control("ROLLBACK TO \(name)")
                try connection.control("RELEASE \(name)")
            } catch let undoing {
                // What could not be undone must not be committed.
                connection.undo(because: undoing)
            }
            throw error
        }
    }

    override func prepare<Record: ActiveRecord>(_ table: Table<Record>) throws {
        let type = ObjectIdentifier(Record.self)
        guard !prepared.contains(type) else { return }
        try savepoint {
            // Known before it is there: two types may refer to each other.
            prepared.append(type)
            try table.prepare(on: connection)
            for reference in Record.references { try prepareTarget(reference.target) }
        }
    }

    private func prepareTarget<Target: ActiveRecord>(_ target: Target.Type) throws {
        _ = try table(of: target)
    }

    /// After tables were changed by name: each type looks again at its next use.
    func forgetTables() {
        prepared.removeAll()
        schema.removeAll()
    }
}
