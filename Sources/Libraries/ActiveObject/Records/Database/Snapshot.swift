/// One state of a database, and the handle for all reads in a ``Database/read(_:)``.
///
/// It is not `Sendable`: it is only valid on the connection's thread, inside the closure that receives it. Using it
/// after the closure has ended traps.
public class Snapshot {
    private let lent: Connection
    let schema: SchemaState
    private var isOver = false
    /// Set when a table is missing. The read is then repeated even if the closure ignores the error, because its
    /// result is wrong.
    private(set) var needed: SchemaNeeded?
    /// The type whose table was used last.
    private var lastType: ObjectIdentifier?

    init(connection: Connection, schema: SchemaState) {
        lent = connection
        self.schema = schema
    }

    // Every operation reads this once, not for each row.
    final var connection: Connection {
        precondition(!isOver, "a Snapshot or Transaction was used after its closure had ended")
        return lent
    }

    final func end() {
        isOver = true
    }

    /// Returns the table of a type. The first use in this database creates or updates the table.
    func table<Record: ActiveRecord>(of type: Record.Type) throws -> Table<Record> {
        let table = try Tables.table(of: type)
        lastType = ObjectIdentifier(type)
        if !schema.isPrepared(type) { try prepare(table) }
        return table
    }

    /// Marks the last used table for a new check if `error` reports that it is missing. Another program or raw SQL may
    /// have dropped it.
    final func recheckTable(after error: any Error) {
        guard let error = error as? ActiveObjectError, error.isMissingName, let lastType else { return }
        schema.remove(lastType)
    }

    func prepare<Record: ActiveRecord>(_ table: Table<Record>) throws {
        let needed = SchemaNeeded { _ = try $0.table(of: Record.self) }
        self.needed = needed
        throw needed
    }
}

/// The error of a reader that uses a type whose table is not known to exist.
struct SchemaNeeded: Error {
    let prepare: @Sendable (Transaction) throws -> Void
}
