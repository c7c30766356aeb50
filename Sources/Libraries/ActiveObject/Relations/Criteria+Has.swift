// These tests are false, and their negations true, for rows whose key is nil or has no related rows.

extension Criteria {
    /// Returns a criterion that at least one related record satisfies `criteria`.
    ///
    /// ```swift
    /// let tagged = Device.where(.has(Device.tags, where: \.tag == "news") && !.has(Device.tags, where: \.tag == "beta"))
    /// ```
    ///
    /// SQLite searches for a related row for each row that it visits. The column with the key should have an index,
    /// ideally followed by the columns of the criterion. If the criterion selects few rows of the other table and many
    /// of this one, query the other table first.
    ///
    /// - Parameters:
    ///   - relation: A relation of the record's type.
    ///   - criteria: The condition for the related record.
    public static func has<Target>(
        _ relation: HasMany<Record, Target>, where criteria: Criteria<Target> = .all
    ) -> Criteria {
        exists(Target.self, where: relation.rows.criteria && criteria) { target, record in
            (try relation.key.column(in: target), record.fields[0].column.quotedName)
        }
    }

    /// Returns a criterion that the record belongs to a record that satisfies `criteria`.
    public static func has<Target>(
        _ relation: BelongsTo<Record, Target>, where criteria: Criteria<Target> = .all
    ) -> Criteria {
        exists(Target.self, where: criteria) { target, record in
            (target.fields[0].column.quotedName, try relation.key.column(in: record))
        }
    }

    /// Returns a criterion that at least one joined record satisfies `criteria`.
    public static func has<Join, Target>(
        _ relation: ManyToMany<Record, Join, Target>, where criteria: Criteria<Target> = .all
    ) -> Criteria {
        let joined = Criteria<Join>.exists(Target.self, where: relation.rows.criteria && criteria) { target, join in
            (target.fields[0].column.quotedName, try relation.targetKey.column(in: join))
        }
        return exists(Join.self, where: joined) { join, record in
            (try relation.sourceKey.column(in: join), record.fields[0].column.quotedName)
        }
    }

    /// - Parameter columns: Returns the column of the other table and the column of this one that must be equal.
    private static func exists<Target: ActiveRecord>(
        _ type: Target.Type, where criteria: Criteria<Target>,
        by columns: @escaping @Sendable (Table<Target>, Table<Record>) throws -> (target: String, record: String)
    ) -> Criteria {
        let test = RelatedTest<Record> { text, isNegated, table, depth in
            let target = try Tables.table(of: Target.self)
            let columns = try columns(target, table)
            let (outer, nesting) = (text.row, text.nesting)
            // A table may be related to itself, so each SELECT has its own name.
            let inner = "related \(nesting + 1)".quotedName
            text.need(Target.self)
            text.append(
                """
                \(isNegated ? "NOT " : "")EXISTS (SELECT 1 FROM \(target.name.quotedName) AS \(inner) \
                WHERE \(inner).\(columns.target) = \(outer ?? table.name.quotedName).\(columns.record)
                """)
            if case .constant(true) = criteria.node {
            } else {
                (text.row, text.nesting) = (inner, nesting + 1)
                text.append(" AND (")
                try text.append(
                    criteria.node, isNegated: false, in: target, at: depth.insideSelect(of: table.name))
                text.append(")")
                (text.row, text.nesting) = (outer, nesting)
            }
            text.append(")")
        }
        return Criteria(.related(test))
    }
}
