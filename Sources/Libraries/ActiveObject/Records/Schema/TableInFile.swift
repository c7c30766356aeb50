/// A table, view or virtual table as it is in the file.
struct TableInFile {
    /// The kinds that `PRAGMA table_list` reports.
    enum Kind: String {
        case table, view, virtual, shadow
    }

    struct Column {
        let name: String
        let declaredType: String
        let isNotNull: Bool
        let hasDefault: Bool
        /// The position in the primary key, from 1 on; 0 if the column is not part of it.
        let keyPosition: Int64
        let isGenerated: Bool
        /// Nil if there is none, as for a view.
        let collation: String?
    }

    struct Index {
        let name: String
        let isUnique: Bool
        /// "c" for CREATE INDEX, "u" for UNIQUE in the table, "pk" for PRIMARY KEY.
        let origin: String
        let isPartial: Bool
        /// The names of the columns; nil for an expression.
        var columns: [String?]
        /// Whether all columns are ascending with the collation of the table's column.
        var isPlain: Bool
    }

    struct ForeignKey {
        var columns: [String]
        let table: String
        /// Nil for the primary key of the other table.
        let target: String?
        let onDelete: String
    }

    let kind: Kind
    let isWithoutRowID: Bool
    let isStrict: Bool
    let columns: [Column]
    let indexes: [Index]
    let foreignKeys: [ForeignKey]

    func column(_ name: String) -> Column? {
        let key = name.nameKey
        return columns.first { $0.name.nameKey == key }
    }

    /// Returns nil if there is nothing with that name.
    static func read(_ name: String, on connection: Connection) throws -> TableInFile? {
        let facts = try connection.rows(
            "SELECT type, wr, strict FROM pragma_table_list(?1) WHERE schema = 'main'", parameters: [.text(name)]
        ) { ($0[0].text, $0[1].integer, $0[2].integer) }
        guard let (type, withoutRowID, strict) = facts.first else { return nil }
        let kind = Kind(rawValue: type) ?? .virtual
        let columns = try connection.rows(
            """
            SELECT name, type, "notnull", dflt_value IS NOT NULL, pk, hidden FROM pragma_table_xinfo(?1, 'main')
            WHERE hidden <> 1 ORDER BY cid
            """, parameters: [.text(name)]
        ) { row in
            Column(
                name: row[0].text, declaredType: row[1].text, isNotNull: row[2].integer != 0,
                hasDefault: row[3].integer != 0, keyPosition: row[4].integer, isGenerated: row[5].integer != 0,
                collation: kind == .table ? connection.database.collation(of: row[0].text, in: name) : nil)
        }
        return TableInFile(
            kind: kind, isWithoutRowID: withoutRowID != 0, isStrict: strict != 0, columns: columns,
            indexes: try indexes(of: name, columns: columns, on: connection),
            foreignKeys: try foreignKeys(of: name, on: connection))
    }

    private static func indexes(of table: String, columns: [Column], on connection: Connection) throws -> [Index] {
        var indexes: [Index] = []
        let parts = try connection.rows(
            """
            SELECT l.name, l."unique", l.origin, l.partial, x.name, x."desc", x.coll
            FROM pragma_index_list(?1, 'main') AS l, pragma_index_xinfo(l.name, 'main') AS x
            WHERE x.key ORDER BY l.seq, x.seqno
            """, parameters: [.text(table)]
        ) { $0 }
        for part in parts {
            let column: String? = part[4] == .null ? nil : part[4].text
            let collation = columns.first { $0.name == column }?.collation
            let isPlain = part[5].integer == 0 && collation?.nameKey == part[6].text.nameKey
            if indexes.last?.name == part[0].text {
                indexes[indexes.count - 1].columns.append(column)
                indexes[indexes.count - 1].isPlain = indexes[indexes.count - 1].isPlain && isPlain
            } else {
                indexes.append(
                    Index(
                        name: part[0].text, isUnique: part[1].integer != 0, origin: part[2].text,
                        isPartial: part[3].integer != 0, columns: [column], isPlain: isPlain))
            }
        }
        return indexes
    }

    private static func foreignKeys(of table: String, on connection: Connection) throws -> [ForeignKey] {
        var keys: [(id: Int64, key: ForeignKey)] = []
        let parts = try connection.rows(
            """
            SELECT id, "table", "from", "to", on_delete FROM pragma_foreign_key_list(?1, 'main') ORDER BY id, seq
            """, parameters: [.text(table)]
        ) { $0 }
        for part in parts {
            if keys.last?.id == part[0].integer {
                keys[keys.count - 1].key.columns.append(part[2].text)
            } else {
                let key = ForeignKey(
                    columns: [part[2].text], table: part[1].text, target: part[3] == .null ? nil : part[3].text,
                    onDelete: part[4].text)
                keys.append((part[0].integer, key))
            }
        }
        return keys.map(\.key)
    }
}

extension Connection {
    /// Runs a query about the schema, which has few rows.
    func rows<Result>(
        _ sql: String, parameters: [SQLValue] = [], body: ([SQLValue]) throws -> Result
    ) throws -> [Result] {
        try withStatement(sql) { statement in
            for (index, value) in parameters.enumerated() { try statement.bind(value, at: Int32(index + 1)) }
            var results: [Result] = []
            while try statement.step() {
                var row: [SQLValue] = []
                for index in 0..<statement.columnCount { row.append(try statement.value(Int32(index))) }
                results.append(try body(row))
            }
            return results
        }
    }
}

extension SQLValue {
    fileprivate var text: String {
        if case .text(let value) = self { value } else { "" }
    }

    fileprivate var integer: Int64 {
        if case .integer(let value) = self { value } else { 0 }
    }
}

extension String {
    /// The name as SQLite compares it: by bytes, with A to Z as a to z. Swift would treat the two encodings of é as
    /// equal.
    var nameKey: [UInt8] {
        utf8.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
    }
}
