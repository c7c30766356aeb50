extension ActiveRecord {
    /// Returns the rules of its type that the record breaks; empty if there are none. Nothing is written, and no hook
    /// is called.
    ///
    /// - Parameter snapshot: The state of the database for rules that search for other rows.
    public func failures(in snapshot: Snapshot) throws -> [ValidationFailure] {
        try snapshot.table(of: Self.self).failures(of: self, rowID: objectId, in: snapshot)
    }

    /// Returns the rules of its type that the record breaks, checked against the current state of a database.
    ///
    /// - Parameter database: The database; by default the one that the type names.
    public func failures(in database: Database? = nil) async throws -> [ValidationFailure] {
        let record = self
        return try await (database ?? Self.database()).read { try record.failures(in: $0) }
    }

    /// Throws the error that `save` would throw if the record breaks rules.
    ///
    /// - Throws: ``ActiveObjectError/Code-swift.struct/invalid`` with all failures.
    public func validate(in snapshot: Snapshot) throws {
        try snapshot.table(of: Self.self).validate(self, rowID: objectId, in: snapshot)
    }

    /// Throws the error that `save` would throw if the record breaks rules, checked against the current state of a
    /// database.
    ///
    /// - Parameter database: The database; by default the one that the type names.
    /// - Throws: ``ActiveObjectError/Code-swift.struct/invalid`` with all failures.
    public func validate(in database: Database? = nil) async throws {
        let record = self
        try await (database ?? Self.database()).read { try record.validate(in: $0) }
    }
}

/// A rule together with the columns of its type's table.
final class ResolvedRule<Record: ActiveRecord> {
    let subject: String
    let check: Rule<Record>.Check
    /// The indexes of the columns among the rule's properties.
    let columns: [Int]
    /// Finds another row with the same values. The last parameter is the row to exclude.
    let uniqueSQL: String?

    init(_ rule: Rule<Record>, fields: [Table<Record>.Field], tableName: String) throws(ActiveObjectError) {
        check = rule.check
        columns = rule.keyPaths.compactMap { keyPath in fields.firstIndex { $0.property.keyPath == keyPath } }
        let isComplete = columns.count == rule.keyPaths.count
        let names = columns.map { fields[$0].column }
        // A property that is not a column, such as a part of a nested value, is named as in the source:
        // `\Person.address.city`.
        subject = rule.subject ?? (isComplete ? names : rule.keyPaths.map { "\($0)" }).joined(separator: ", ")
        guard case .unique = rule.check else {
            uniqueSQL = nil
            return
        }
        guard isComplete, !columns.isEmpty else {
            throw ActiveObjectError(
                .badRecord,
                message: "\(Record.self).rules: `unique` names \(subject), but only columns can be searched",
                table: tableName)
        }
        let conditions = names.enumerated().map { "\($1.quotedName) = ?\($0 + 1)" }.joined(separator: " AND ")
        uniqueSQL =
            "SELECT 1 FROM \(tableName.quotedName) WHERE \(conditions) "
            + "AND \(fields[0].column.quotedName) IS NOT ?\(names.count + 1) LIMIT 1"
    }
}

extension Table {
    /// - Parameter rowID: The key of the record's row, now or after it is saved. Rules that compare rows exclude it.
    func failures(of record: Record, rowID: Int64?, in snapshot: Snapshot) throws -> [ValidationFailure] {
        var failures: [ValidationFailure] = []
        for rule in saving.rules {
            switch rule.check {
            case .value(let check):
                if let message = check(record) {
                    failures.append(ValidationFailure(column: rule.subject, message: message))
                }
            case .unique:
                if try hasDuplicate(of: record, under: rule, rowID: rowID, in: snapshot) {
                    let message =
                        rule.columns.count == 1
                        ? "must be unique, and another record has this value"
                        : "must be unique together, and another record has these values"
                    failures.append(ValidationFailure(column: rule.subject, message: message))
                }
            }
        }
        return failures
    }

    func validate(_ record: Record, rowID: Int64?, in snapshot: Snapshot) throws {
        let failures = try failures(of: record, rowID: rowID, in: snapshot)
        guard let first = failures.first else { return }
        let text = failures.map(\.description).joined(separator: "; ")
        throw ActiveObjectError(
            .invalid, message: "this record cannot be saved in \(name): \(text)", table: name,
            column: failures.count == 1 ? first.column : nil, failures: failures)
    }

    private func hasDuplicate(
        of record: Record, under rule: ResolvedRule<Record>, rowID: Int64?, in snapshot: Snapshot
    ) throws -> Bool {
        guard let sql = rule.uniqueSQL else { return false }
        return try snapshot.connection.withStatement(sql) { statement in
            try bind(record, columns: rule.columns, to: statement)
            if let rowID {
                try bindKey(rowID, to: statement, at: rule.columns.count + 1)
            }
            return try statement.step()
        }
    }
}
