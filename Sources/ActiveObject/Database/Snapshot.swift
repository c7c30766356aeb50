/// What a `read` sees, and the handle for all that is read in it.
///
/// Not `Sendable`: it lives and ends on the connection's thread, inside the closure that it was given to.
public class Snapshot {
    let connection: Connection
    let schema: SchemaState

    init(connection: Connection, schema: SchemaState) {
        self.connection = connection
        self.schema = schema
    }

    /// The table of a type, made or brought up to date if this is its first use in this database.
    func table<Record: ActiveRecord>(of type: Record.Type) throws -> Table<Record> {
        let table = try Tables.table(of: type)
        if !schema.isPrepared(type) { try prepare(table) }
        return table
    }

    func prepare<Record: ActiveRecord>(_ table: Table<Record>) throws {
        throw SchemaNeeded { _ = try $0.table(of: Record.self) }
    }
}

/// Thrown by a reader that meets a type whose table is not known to be there.
struct SchemaNeeded: Error {
    let prepare: @Sendable (Transaction) throws -> Void
}
