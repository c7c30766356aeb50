/// A test of rows that a relation connects with the row at hand.
struct RelatedTest<Record: ActiveRecord>: Sendable {
    /// Appends it, or its contrary.
    let append:
        @Sendable (_ text: inout SQLText, _ isNegated: Bool, _ table: Table<Record>, SQLText.Depth) throws -> Void
}

// Of rows that are nil in the key, and of records that refer to none, these are false, and their contrary is true.

extension Criteria {
    /// By the relation, the record has at least one that is like this.
    ///
    /// ```swift
    /// let tagged = Device.where(.has(Device.tags, where: \.tag == "news") && !.has(Device.tags, where: \.tag == "beta"))
    /// ```
    ///
    /// SQLite looks for one for each row that it comes to: the column that holds the key needs an index, which does best
    /// if it goes on with the columns of the criterion. Where few rows of the other table are meant and many of this
    /// one, ask that table first.
    public static func has<Target>(
        _ relation: HasMany<Record, Target>, where criteria: Criteria<Target> = .all
    ) -> Criteria {
        exists(Target.self, relation.rows.criteria && criteria) { target, record in
            (try relation.key.column(in: target), record.fields[0].column.quotedName)
        }
    }

    /// The record belongs to one that is like this.
    public static func has<Target>(
        _ relation: BelongsTo<Record, Target>, where criteria: Criteria<Target> = .all
    ) -> Criteria {
        exists(Target.self, criteria) { target, record in
            (target.fields[0].column.quotedName, try relation.key.column(in: record))
        }
    }

    /// The record is joined with at least one that is like this.
    public static func has<Join, Target>(
        _ relation: ManyToMany<Record, Join, Target>, where criteria: Criteria<Target> = .all
    ) -> Criteria {
        let joined = Criteria<Join>.exists(Target.self, relation.rows.criteria && criteria) { target, join in
            (target.fields[0].column.quotedName, try relation.targetKey.column(in: join))
        }
        return exists(Join.self, joined) { join, record in
            (try relation.sourceKey.column(in: join), record.fields[0].column.quotedName)
        }
    }

    /// - Parameter columns: the column of the other table and that of this one which must be equal.
    private static func exists<Target: ActiveRecord>(
        _ type: Target.Type, _ criteria: Criteria<Target>,
        by columns: @escaping @Sendable (Table<Target>, Table<Record>) throws -> (target: String, record: String)
    ) -> Criteria {
        let test = RelatedTest<Record> { text, isNegated, table, depth in
            let target = try Tables.table(of: Target.self)
            let columns = try columns(target, table)
            let (outer, nesting) = (text.row, text.nesting)
            // A table may have a relation to itself, so each SELECT has a name of its own.
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
