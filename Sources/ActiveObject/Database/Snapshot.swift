/// What a `read` sees, and the handle for all that is read in it.
///
/// Not `Sendable`: it lives and ends on the connection's thread, inside the closure that it was given to. Who carries
/// it out of there against the compiler's will ends the process when he uses it.
public class Snapshot {
    private let lent: Connection
    let schema: SchemaState
    private var isOver = false
    /// Set when a table was missing. The closure may have swallowed the error, and what it made of it counts for
    /// nothing.
    private(set) var needed: SchemaNeeded?
    /// The type whose table was asked for last.
    private var lastType: ObjectIdentifier?

    init(connection: Connection, schema: SchemaState) {
        lent = connection
        self.schema = schema
    }

    /// Asked for once by each verb, not for each row.
    final var connection: Connection {
        precondition(!isOver, "a Snapshot or Transaction was used after the closure that it was given to had ended")
        return lent
    }

    final func end() {
        isOver = true
    }

    /// The table of a type, made or brought up to date if this is its first use in this database.
    func table<Record: ActiveRecord>(of type: Record.Type) throws -> Table<Record> {
        let table = try Tables.table(of: type)
        lastType = ObjectIdentifier(type)
        if !schema.isPrepared(type) { try prepare(table) }
        return table
    }

    /// After an error: a table that is not as it was known to be, dropped by another program or by raw SQL, is looked
    /// at again at the next use of its type.
    final func doubtTable(after error: any Error) {
        guard let error = error as? ActiveObjectError, error.saysOfMissingTable, let lastType else { return }
        schema.remove(lastType)
    }

    func prepare<Record: ActiveRecord>(_ table: Table<Record>) throws {
        let needed = SchemaNeeded { _ = try $0.table(of: Record.self) }
        self.needed = needed
        throw needed
    }
}

/// Thrown by a reader that meets a type whose table is not known to be there.
struct SchemaNeeded: Error {
    let prepare: @Sendable (Transaction) throws -> Void
}
