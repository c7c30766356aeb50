public import FoundationEssentials

/// A running transaction, and the handle for all reads and writes in a ``Database/write(_:)``.
///
/// It is not `Sendable`: it is only valid on the writer's thread, inside the closure that receives it.
public final class Transaction: Snapshot {
    /// The types whose tables this transaction created. They are known to exist once it is committed.
    private var prepared: [ObjectIdentifier] = []
    private var depth = 0
    /// The time that `save` writes into timestamps. It is the same for the whole transaction and has whole
    /// milliseconds, which every ``DateForm`` can represent. It can be set, for imports and for tests.
    public lazy var now = Date(timeIntervalSince1970: (Date.now.timeIntervalSince1970 * 1000).rounded(.down) / 1000)

    static func run<Result>(
        on connection: Connection, schema: SchemaState, body: (Transaction) throws -> Result
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
            transaction.recheckTable(after: error)
            throw error
        }
    }

    /// Runs a part of the transaction that can fail on its own: if `body` throws, its changes are undone, and the
    /// transaction can continue. Savepoints can be nested.
    ///
    /// Some errors roll back the whole transaction: a full disk, no memory, a trigger with `RAISE(ROLLBACK)`, or a
    /// cancelled task. After such an error the transaction accepts no more statements, and ``Database/write(_:)``
    /// throws even if the closure does not.
    ///
    /// - Returns: The result of `body`.
    /// - Throws: The error of `body`, or ``ActiveObjectError`` if the savepoint fails.
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
            } catch let rollbackError {
                // Changes that cannot be undone must not be committed.
                connection.rollBack(because: rollbackError)
            }
            throw error
        }
    }

    override func prepare<Record: ActiveRecord>(_ table: Table<Record>) throws {
        let type = ObjectIdentifier(Record.self)
        guard !prepared.contains(type) else { return }
        try savepoint {
            // The type is marked before its table exists, because two types may refer to each other.
            prepared.append(type)
            try table.prepare(on: connection)
            for reference in Record.references { try prepareTarget(reference.target) }
        }
    }

    private func prepareTarget<Target: ActiveRecord>(_ target: Target.Type) throws {
        _ = try table(of: target)
    }

    /// Forgets all tables after they were changed by name. Each type checks its table again at its next use.
    func forgetTables() {
        prepared.removeAll()
        schema.removeAll()
    }
}
