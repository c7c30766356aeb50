/// Records of two types, connected by the rows of a third: `Book.tags`, by `BookTag.bookId` and `BookTag.tagId`.
///
/// The join record is a record like any other and may have columns of its own. A target that is joined twice is there
/// twice; `add` and `set` do not join what is joined already.
public struct ManyToMany<Record: ActiveRecord, Join: ActiveRecord, Target: ActiveRecord>: Relation {
    let sourceKey: ForeignKey<Join>
    let targetKey: ForeignKey<Join>
    var rows = RelatedRows<Target>()

    /// A target with the record that joins it.
    public struct Link: Sendable {
        public var join: Join
        public var target: Target
    }

    /// - Parameters:
    ///   - source: where the join record holds the key of this type.
    ///   - target: where it holds that of the other.
    public init(_ source: KeyPath<Join, Int64>, _ target: KeyPath<Join, Int64>) {
        sourceKey = ForeignKey(source)
        targetKey = ForeignKey(target)
    }

    /// The same records in this order, then in that of their keys. A second order counts where the first says nothing.
    public func order<Value>(by keyPath: KeyPath<Target, Value>, descending: Bool = false) -> Self {
        var relation = self
        relation.rows = rows.order(by: keyPath, descending: descending)
        return relation
    }

    // MARK: Loading

    public func load(for record: Record, in snapshot: Snapshot) throws -> [Target] {
        guard let id = record.objectId else { return [] }
        return try read(.one(id), in: snapshot) { table, statement in
            try table.record(statement, firstColumn: Self.keyColumns)
        }
    }

    /// By the `objectId` of `records`.
    public func load(for records: [Record], in snapshot: Snapshot) throws -> [Int64: [Target]] {
        var groups: [Int64: [Target]] = [:]
        let joinTable = try snapshot.table(of: Join.self)
        _ = try read(.many(records.compactMap(\.objectId)), in: snapshot) { table, statement in
            let id = try joinTable.id(statement, 0, of: sourceKey)
            groups[id, default: []].append(try table.record(statement, firstColumn: Self.keyColumns))
        }
        return groups
    }

    /// The targets of a record with what joins them, in the order of the relation.
    public func loadLinks(for record: Record, in snapshot: Snapshot) throws -> [Link] {
        guard let id = record.objectId else { return [] }
        let joinTable = try snapshot.table(of: Join.self)
        var joins: [Int64: Join] = [:]
        let column = try sourceKey.column(in: joinTable)
        for join in try RelatedRows<Join>().load(.one(id), of: column, in: snapshot) {
            if let id = join.objectId { joins[id] = join }
        }
        return try read(.one(id), in: snapshot) { table, statement in
            let joinID = try joinTable.id(statement, 1, of: nil)
            let target = try table.record(statement, firstColumn: Self.keyColumns)
            return joins[joinID].map { Link(join: $0, target: target) }
        }.compactMap(\.self)
    }

    public func loadLinks(for record: Record, in database: Database? = nil) async throws -> [Link] {
        try await (database ?? Record.database()).read { try loadLinks(for: record, in: $0) }
    }

    /// The source's key and the join's stand before the target's columns.
    private static var keyColumns: Int32 { 2 }

    private func read<Result>(
        _ keys: RelatedRows<Target>.Keys, in snapshot: Snapshot,
        _ body: (Table<Target>, Statement) throws -> Result
    ) throws -> [Result] {
        let join = try snapshot.table(of: Join.self)
        let target = try snapshot.table(of: Target.self)
        let source = try sourceKey.column(in: join)
        let clauses = try rows.clauses(keys: nil, of: target, in: snapshot)
        // Under names that no column has, so that those of the target can stand without its table's name.
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
    /// A key that stands in a row outside of a record.
    func id(_ statement: Statement, _ column: Int32, of key: ForeignKey<Record>?) throws -> Int64 {
        let field = try key.map { try self.field($0.keyPath) } ?? fields[0]
        do throws(ColumnFault) {
            return try statement.integer(column)
        } catch {
            throw self.error(error, in: field)
        }
    }
}
