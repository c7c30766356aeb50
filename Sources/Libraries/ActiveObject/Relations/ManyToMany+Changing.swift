extension ManyToMany {
    /// Joins `targets` with `record`, except those that are already joined.
    ///
    /// New join records are saved as by `saveAll`. Their columns, other than the two keys, have the defaults of
    /// ``Column``, or else nil if the property is optional, or else 0, "" or an empty blob.
    public func add(_ targets: [Target], to record: Record, in transaction: Transaction) throws {
        let source = try record.savedID()
        let ids = try targets.map { try $0.savedID() }
        try add(
            ids, to: source, without: try joined(source, among: ids, in: transaction), in: transaction)
    }

    /// Joins `target` with `record`, unless it is already joined.
    public func add(_ target: Target, to record: Record, in transaction: Transaction) throws {
        try add([target], to: record, in: transaction)
    }

    /// Joins `target` with `record` by a join record with further properties. Both keys are set in the join record, and
    /// it is saved. A join record that was saved before now joins these two.
    public func add(
        _ target: Target, to record: Record, as join: inout Join, in transaction: Transaction
    ) throws {
        try sourceKey.set(try record.savedID(), in: &join)
        try targetKey.set(try target.savedID(), in: &join)
        try join.save(in: transaction)
    }

    /// Removes the joins of `targets` with `record`, if there are any, with a single statement. The hooks of the join
    /// type are not called.
    public func remove(_ targets: [Target], from record: Record, in transaction: Transaction) throws {
        try remove(targets.map { try $0.savedID() }, from: try record.savedID(), in: transaction)
    }

    /// Removes the join of `target` with `record`, if there is one. The hooks of the join type are not called.
    public func remove(_ target: Target, from record: Record, in transaction: Transaction) throws {
        try remove([target], from: record, in: transaction)
    }

    /// Makes `targets` the only records that are joined with `record`. Existing joins with them are not changed.
    public func set(_ targets: [Target], of record: Record, in transaction: Transaction) throws {
        let source = try record.savedID()
        let ids = try targets.map { try $0.savedID() }
        let before = try joined(source, among: nil, in: transaction)
        try remove(Array(before.subtracting(ids)), from: source, in: transaction)
        try add(ids, to: source, without: before, in: transaction)
    }

    // MARK: Statements

    private func joined(_ source: Int64, among ids: [Int64]?, in transaction: Transaction) throws
        -> Set<Int64>
    {
        let join = try transaction.table(of: Join.self)
        let target = try targetKey.column(in: join)
        let among = ids == nil ? "" : " AND \(target) IN (SELECT value FROM json_each(?2))"
        let sql =
            "SELECT \(target) FROM \(join.name.quotedName) WHERE \(try sourceKey.column(in: join)) = ?1"
            + among
        return try transaction.connection.withStatement(sql) { statement in
            try Keys.one(source).bind(to: statement)
            if let ids { try Keys.many(ids).bind(to: statement, at: 2) }
            var found: Set<Int64> = []
            while try statement.step() { found.insert(try join.id(from: statement, at: 0, of: targetKey)) }
            return found
        }
    }

    private func remove(_ ids: [Int64], from source: Int64, in transaction: Transaction) throws {
        guard !ids.isEmpty else { return }
        let join = try transaction.table(of: Join.self)
        let sql =
            """
            DELETE FROM \(join.name.quotedName) WHERE \(try sourceKey.column(in: join)) = ?1 \
            AND \(try targetKey.column(in: join)) IN (SELECT value FROM json_each(?2))
            """
        try transaction.connection.withStatement(sql) { statement in
            try Keys.one(source).bind(to: statement)
            try Keys.many(ids).bind(to: statement, at: 2)
            try statement.run()
        }
    }

    private func add(
        _ ids: [Int64], to source: Int64, without joined: Set<Int64>, in transaction: Transaction
    ) throws {
        var seen = joined
        let new = ids.filter { seen.insert($0).inserted }
        guard !new.isEmpty else { return }
        var joins = try newJoins(from: source, to: new, in: transaction)
        try joins.saveAll(in: transaction)
    }

    /// Returns new join records as they would be read from the table. One statement creates a row for each.
    private func newJoins(from source: Int64, to targets: [Int64], in transaction: Transaction) throws
        -> [Join]
    {
        let table = try transaction.table(of: Join.self)
        var defaults: [(value: SQLValue, field: Table<Join>.Field)] = []
        let columns = table.fields.enumerated().map { index, field in
            if index == 0 { return "NULL" }
            if field.property.keyPath == sourceKey.keyPath { return "?1" }
            if field.property.keyPath == targetKey.keyPath { return "value" }
            if let value = field.defaultValue {
                defaults.append((value, field))
                return "?\(defaults.count + 2)"
            }
            if field.codec.isOptional { return "NULL" }
            return switch field.codec.valueClass {
            case .text: "''"
            case .blob: "x''"
            case .real: "0.0"
            case .integer, .null: "0"
            }
        }
        let sql = "SELECT \(columns.joined(separator: ", ")) FROM json_each(?2)"
        return try transaction.connection.withStatement(sql) { statement in
            try Keys.one(source).bind(to: statement)
            try Keys.many(targets).bind(to: statement, at: 2)
            for (index, column) in defaults.enumerated() {
                do throws(ColumnFault) {
                    try statement.bind(column.value, at: Int32(index) + 3)
                } catch {
                    throw table.error(error, in: column.field)
                }
            }
            do {
                return try table.records(from: statement)
            } catch let error as ActiveObjectError where error.column != nil {
                throw ActiveObjectError(
                    .missingValue,
                    message: """
                        \(table.name).\(error.column ?? "") has no value for a new \(Join.self); give the column a \
                        default, or use add(_:to:as:)
                        """, table: table.name, column: error.column)
            }
        }
    }

    private typealias Keys = RelatedRows<Target>.Keys
}

extension ManyToMany {
    // The same functions as transactions of their own.

    /// Joins `targets` with `record` in a database, by default the one that the type names.
    public func add(_ targets: [Target], to record: Record, in database: Database? = nil) async throws {
        try await (database ?? Record.database()).write { try add(targets, to: record, in: $0) }
    }

    /// Joins `target` with `record` in a database, by default the one that the type names.
    public func add(_ target: Target, to record: Record, in database: Database? = nil) async throws {
        try await add([target], to: record, in: database)
    }

    /// Joins `target` with `record` by a join record in a database, by default the one that the type names.
    public func add(
        _ target: Target, to record: Record, as join: inout Join, in database: Database? = nil
    ) async throws {
        let before = join
        join = try await (database ?? Record.database()).write { transaction in
            var join = before
            try add(target, to: record, as: &join, in: transaction)
            return join
        }
    }

    /// Removes the joins of `targets` with `record` in a database, by default the one that the type names.
    public func remove(_ targets: [Target], from record: Record, in database: Database? = nil)
        async throws
    {
        try await (database ?? Record.database()).write { try remove(targets, from: record, in: $0) }
    }

    /// Removes the join of `target` with `record` in a database, by default the one that the type names.
    public func remove(_ target: Target, from record: Record, in database: Database? = nil)
        async throws
    {
        try await remove([target], from: record, in: database)
    }

    /// Makes `targets` the only records that are joined with `record` in a database, by default the one that the type
    /// names.
    public func set(_ targets: [Target], of record: Record, in database: Database? = nil) async throws {
        try await (database ?? Record.database()).write { try set(targets, of: record, in: $0) }
    }
}
