/// The SQL of the statements that every record needs.
struct RecordStatements {
    let insert: String
    let insertWithID: String
    let update: String
    let find: String
    let remove: String
    /// The quoted names of the columns, `objectId` first.
    let names: [String]
    /// The operations whose SQL the type overrides.
    let overridden: Set<RecordOperation>

    /// - Parameters:
    ///   - columns: The names of the columns, `objectId` first.
    ///   - created: The index of a column that only an insert writes.
    ///   - version: The index of the column that counts the saves.
    init<Record: ActiveRecord>(
        for type: Record.Type, table: String, columns: [String], created: Int?, version: Int?
    ) {
        var overridden: Set<RecordOperation> = []
        func text(of operation: RecordOperation, standard: String) -> String {
            let text = Record.sql(for: operation, standard: standard)
            if text != standard { overridden.insert(operation) }
            return text
        }

        let table = table.quotedName
        let columns = columns.map(\.quotedName)
        let id = columns[0]
        let others = columns.dropFirst()
        let count = others.count
        insert = text(
            of: .insert,
            standard: "INSERT INTO \(table) "
                + (others.isEmpty
                    ? "DEFAULT VALUES" : "(\(others.joined(separator: ", "))) VALUES (\(Self.marks(count)))"))
        insertWithID = text(
            of: .insertWithID,
            standard:
                "INSERT INTO \(table) (\((others + [id]).joined(separator: ", "))) VALUES (\(Self.marks(count + 1)))")
        update = text(
            of: .update,
            standard: """
                UPDATE \(table) SET \(Self.sets(columns, at: others.indices.filter { $0 != created }) { "?\($0)" }) \
                WHERE \(id) = ?\(count + 1)\(version.map { " AND \(columns[$0]) = ?\(count + 2)" } ?? "")
                """)
        find = text(of: .find, standard: "SELECT \(columns.joined(separator: ", ")) FROM \(table) WHERE \(id) = ?1")
        remove = text(
            of: .remove,
            standard: "DELETE FROM \(table) WHERE \(id) = ?1\(version.map { " AND \(columns[$0]) = ?2" } ?? "")")
        self.overridden = overridden
        names = columns
    }

    /// Returns `?1, ?2, ?3`.
    static func marks(_ count: Int) -> String {
        (0..<count).map { "?\($0 + 1)" }.joined(separator: ", ")
    }

    /// Returns `"name" = ?1, "age" = ?2`. Without columns, returns an assignment without effect, because SET cannot be
    /// empty.
    static func sets(_ columns: [String], at indexes: [Int], value: (Int) -> String) -> String {
        guard !indexes.isEmpty else { return "\(columns[0]) = \(columns[0])" }
        return indexes.map { "\(columns[$0]) = \(value($0))" }.joined(separator: ", ")
    }
}
