extension DatabaseChanges {
    /// The changes in the table of a type; empty if there are none.
    public subscript<Record: ActiveRecord>(type: Record.Type) -> ChangeSet {
        guard isComplete else { return .unknown }
        let name = type.tableName
        // SQLite ignores case in names of tables.
        return tables[name] ?? tables.first { $0.key.lowercased() == name.lowercased() }?.value
            ?? ChangeSet()
    }
}
