/// A `write` that runs: everything that reads and everything that writes.
///
/// Not `Sendable`: it lives and ends on the writer's thread, inside the closure that it was given to.
public final class Transaction: Snapshot {
    /// Types whose tables were made in this transaction: known to be there once it is committed.
    private var prepared: [ObjectIdentifier] = []
    private var depth = 0

    static func run<Result>(
        on connection: Connection, schema: SchemaState, _ body: (Transaction) throws -> Result
    ) throws -> Result {
        let transaction = Transaction(connection: connection, schema: schema)
        try connection.withStatement("BEGIN IMMEDIATE") { try $0.run() }
        do {
            let result = try body(transaction)
            try connection.withStatement("COMMIT") { try $0.run() }
            schema.insert(transaction.prepared)
            return result
        } catch {
            // After some errors (a full disk, no memory) SQLite has rolled back itself.
            if connection.isInTransaction { try? connection.withStatement("ROLLBACK") { try $0.run() } }
            throw error
        }
    }

    /// A part that can fail by itself: if `body` throws, what it did is undone, and the transaction goes on with what
    /// the caller makes of the error. Savepoints nest.
    public func savepoint<Result>(_ body: () throws -> Result) throws -> Result {
        depth += 1
        defer { depth -= 1 }
        let name = "s\(depth)"
        let preparedBefore = prepared
        try connection.withStatement("SAVEPOINT \(name)") { try $0.run() }
        do {
            let result = try body()
            try connection.withStatement("RELEASE \(name)") { try $0.run() }
            return result
        } catch {
            prepared = preparedBefore
            if connection.isInTransaction {
                try? connection.withStatement("ROLLBACK TO \(name)") { try $0.run() }
                try? connection.withStatement("RELEASE \(name)") { try $0.run() }
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
