extension Table {
    /// Makes the table and its indexes if they are not there.
    func prepare(on connection: Connection) throws {
        let columns = fields.enumerated().map { index, field in
            index == 0 ? "\(field.column.quotedName) INTEGER PRIMARY KEY" : definition(of: field)
        }
        try connection.run(
            "CREATE TABLE IF NOT EXISTS \(name.quotedName) (\(columns.joined(separator: ", "))) STRICT")
        for index in indexes {
            let columns = try index.keyPaths.map { try field($0).column }
            let name = ([self.name] + columns + (index.isUnique ? ["key"] : ["index"])).joined(separator: "_")
            try connection.run(
                """
                CREATE \(index.isUnique ? "UNIQUE " : "")INDEX IF NOT EXISTS \(name.quotedName) \
                ON \(self.name.quotedName) (\(columns.map(\.quotedName).joined(separator: ", ")))
                """)
        }
    }

    /// A column as CREATE TABLE and ADD COLUMN take it.
    func definition(of field: Field) -> String {
        var text = "\(field.column.quotedName) \(field.codec.valueClass.sql)"
        if field.ignoresCase { text += " COLLATE NOCASE" }
        if !field.codec.isOptional { text += " NOT NULL" }
        return text
    }
}
