import PushThread

/// The steps of saving and removing records of a type, apart from writing their columns. It is made once for each type.
final class SavePlan<Record: ActiveRecord> {
    typealias Field = Table<Record>.Field

    let absentHooks = AbsentHooks()
    let rules: [ResolvedRule<Record>]
    let managed: ManagedColumns
    let statements: RecordStatements
    /// Whether the type has no rules, timestamps, version or own SQL.
    private let isColumnsOnly: Bool
    // Generating SQL takes longer than running it, so it is kept for each request.
    let upserts = Locked<[UpsertRequest<Record>: UpsertPlan]>([:])
    let updates = Locked<[[Int]: String]>([:])

    init(fields: [Field], tableName: String) throws(ActiveObjectError) {
        func slot(
            of keyPath: PartialKeyPath<Record>?, namedBy member: String
        ) throws(ActiveObjectError) -> ManagedColumns.Slot? {
            guard let keyPath else { return nil }
            guard let index = fields.firstIndex(where: { $0.property.keyPath == keyPath }), index > 0 else {
                throw ActiveObjectError(
                    .badRecord,
                    message: "\(Record.self).\(member) names \(keyPath), which is not a stored property with a column",
                    table: tableName)
            }
            return ManagedColumns.Slot(column: index, offset: fields[index].property.offset)
        }
        managed = ManagedColumns(
            created: try slot(of: Record.timestamps?.created, namedBy: "timestamps"),
            updated: try slot(of: Record.timestamps?.updated, namedBy: "timestamps"),
            version: try slot(of: Record.versionColumn, namedBy: "versionColumn"))
        var rules: [ResolvedRule<Record>] = []
        for rule in Record.rules { rules.append(try ResolvedRule(rule, fields: fields, tableName: tableName)) }
        self.rules = rules
        statements = RecordStatements(
            for: Record.self, table: tableName, columns: fields.map(\.column), created: managed.created?.column,
            version: managed.version?.column)
        isColumnsOnly =
            rules.isEmpty && managed.isEmpty && statements.overridden.isDisjoint(with: [.insert, .update])
    }

    /// Whether a save is known to be a single statement.
    var isPlain: Bool { isColumnsOnly && absentHooks.contain(.ofSaving) }

    /// Whether a rule compares rows.
    var hasUniqueRules: Bool { rules.contains { $0.uniqueSQL != nil } }
}
