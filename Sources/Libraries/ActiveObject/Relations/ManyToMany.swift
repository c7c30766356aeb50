/// A relation of two types whose records are joined by the rows of a third: `Book.tags`, by `BookTag.bookId` and
/// `BookTag.tagId`.
///
/// The join record is an ordinary record and may have columns of its own. A target that is joined twice is loaded
/// twice; `add` and `set` do not join a target that is already joined.
public struct ManyToMany<Record: ActiveRecord, Join: ActiveRecord, Target: ActiveRecord>: Relation {
    let sourceKey: ForeignKey<Join>
    let targetKey: ForeignKey<Join>
    var rows = RelatedRows<Target>()

    /// A target together with the record that joins it.
    public struct Link: Sendable {
        /// The join record.
        public var join: Join
        /// The related record.
        public var target: Target
    }

    /// Creates a relation by two properties of the join record.
    ///
    /// - Parameters:
    ///   - source: The property with the key of this type.
    ///   - target: The property with the key of the other type.
    public init(_ source: KeyPath<Join, Int64>, to target: KeyPath<Join, Int64>) {
        sourceKey = ForeignKey(source)
        targetKey = ForeignKey(target)
    }

    /// Returns this relation sorted by a property, and then by key. A second order applies to records that are equal in
    /// the first.
    public func order<Value>(by keyPath: KeyPath<Target, Value>, descending: Bool = false) -> Self {
        var relation = self
        relation.rows = rows.order(by: keyPath, descending: descending)
        return relation
    }

    /// Returns this relation limited to records that satisfy `criteria`.
    public func `where`(_ criteria: Criteria<Target>) -> Self {
        var relation = self
        relation.rows = rows.filtered(criteria)
        return relation
    }

    // MARK: Loading

    /// Returns the joined records of one record.
    public func load(for record: Record, in snapshot: Snapshot) throws -> [Target] {
        guard let id = record.objectId else { return [] }
        return try read(.one(id), in: snapshot) { table, statement in
            try table.record(from: statement, firstColumn: Self.keyColumns)
        }
    }

    /// Returns the joined records of several records, by the `objectId` of `records`.
    public func load(for records: [Record], in snapshot: Snapshot) throws -> [Int64: [Target]] {
        var groups: [Int64: [Target]] = [:]
        let joinTable = try snapshot.table(of: Join.self)
        _ = try read(.many(records.compactMap(\.objectId)), in: snapshot) { table, statement in
            let id = try joinTable.id(from: statement, at: 0, of: sourceKey)
            groups[id, default: []].append(try table.record(from: statement, firstColumn: Self.keyColumns))
        }
        return groups
    }

    /// Returns the joined records of one record together with their join records, in the order of the relation.
    public func loadLinks(for record: Record, in snapshot: Snapshot) throws -> [Link] {
        guard let id = record.objectId else { return [] }
        let joinTable = try snapshot.table(of: Join.self)
        var joins: [Int64: Join] = [:]
        let column = try sourceKey.column(in: joinTable)
        for join in try RelatedRows<Join>().load(.one(id), of: column, in: snapshot) {
            if let id = join.objectId { joins[id] = join }
        }
        return try read(.one(id), in: snapshot) { table, statement in
            let joinID = try joinTable.id(from: statement, at: 1, of: nil)
            let target = try table.record(from: statement, firstColumn: Self.keyColumns)
            return joins[joinID].map { Link(join: $0, target: target) }
        }.compactMap(\.self)
    }

    /// Returns the joined records of one record together with their join records, from a database, by default the one
    /// that the type names.
    public func loadLinks(for record: Record, in database: Database? = nil) async throws -> [Link] {
        try await (database ?? Record.database()).read { try loadLinks(for: record, in: $0) }
    }

    /// The number of columns before those of the target: the keys of the source and of the join record.
    private static var keyColumns: Int32 { 2 }

    private func read<Result>(
        _ keys: RelatedRows<Target>.Keys, in snapshot: Snapshot,
        body: (Table<Target>, Statement) throws -> Result
    ) throws -> [Result] {
        let join = try snapshot.table(of: Join.self)
        let target = try snapshot.table(of: Target.self)
        let source = try sourceKey.column(in: join)
        let clauses = try rows.clauses(keys: nil, of: target, in: snapshot)
        // The aliases differ from all column names, so that the target's columns need no table name.
        let sql =
            """
            SELECT "join source", "join id", \(target.columnList) \
            FROM (SELECT \(source) AS "join source", \(try targetKey.column(in: join)) AS "join target", \
            \(join.fields[0].column.quotedName) AS "join id" FROM \(join.name.quotedName) \
            WHERE \(source) \(keys.condition)) \
            JOIN \(target.name.quotedName) ON \(target.fields[0].column.quotedName) = "join target"\
            \(clauses.sql), "join id"
            """
        return try snapshot.connection.withStatement(sql) { statement in
            try keys.bind(to: statement)
            try rows.bind(clauses.values, to: statement)
            var results: [Result] = []
            while try statement.step() { results.append(try body(target, statement)) }
            return results
        }
    }
}

extension Table {
    /// Reads a key from a column that is not part of a record.
    func id(from statement: Statement, at column: Int32, of key: ForeignKey<Record>?) throws -> Int64 {
        let field = try key.map { try self.field($0.keyPath) } ?? fields[0]
        do throws(ColumnFault) {
            return try statement.integer(column)
        } catch {
            throw self.error(error, in: field)
        }
    }
}
