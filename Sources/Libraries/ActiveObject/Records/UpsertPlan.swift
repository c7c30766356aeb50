/// The statements of one kind of upsert of a table.
final class UpsertPlan: Sendable {
    let sql: String
    /// The same statement without RETURNING.
    let silentSQL: String
    /// The columns that are the parameters of `sql`.
    let columns: [Int]
    /// Selects the row with the key.
    let findSQL: String
    /// The columns that are the parameters of `findSQL`.
    let key: [Int]

    init(sql: String, silentSQL: String, columns: [Int], findSQL: String, key: [Int]) {
        self.sql = sql
        self.silentSQL = silentSQL
        self.columns = columns
        self.findSQL = findSQL
        self.key = key
    }
}

/// The arguments of an upsert.
struct UpsertRequest<Record>: Hashable {
    let key: [PartialKeyPath<Record>]
    let columns: UpsertColumns<Record>
}

extension Table {
    /// Returns the plan for a request. It is made once for each request.
    func upsertPlan(
        on key: [PartialKeyPath<Record>], updating columns: UpsertColumns<Record>
    ) throws(ActiveObjectError) -> UpsertPlan {
        let request = UpsertRequest(key: key, columns: columns)
        if let plan = saving.upserts.withLock({ $0[request] }) { return plan }
        let plan = try makeUpsertPlan(request)
        saving.upserts.withLock { $0[request] = plan }
        return plan
    }

    private func makeUpsertPlan(_ request: UpsertRequest<Record>) throws(ActiveObjectError) -> UpsertPlan {
        let key = try fieldIndexes(of: request.key)
        try checkIsUnique(key)
        let isByID = key == [0]
        let parameters = Array((isByID ? 0 : 1)..<fields.count)
        let names = fields.map(\.column.quotedName)
        let action =
            try overwritten(request.columns, key: key).map { columns in
                let sets = columns.map { "\(names[$0]) = excluded.\(names[$0])" }
                let count = saving.managed.version.map { ["\(names[$0.column]) = \(names[$0.column]) + 1"] } ?? []
                // SET must not be empty, and RETURNING only returns a row that was written.
                let all = sets + count
                return "UPDATE SET " + (all.isEmpty ? ["\(names[0]) = \(names[0])"] : all).joined(separator: ", ")
            } ?? "NOTHING"
        let list = parameters.map { names[$0] }.joined(separator: ", ")
        let target = key.map { names[$0] }.joined(separator: ", ")
        let condition = key.enumerated().map { "\(names[$1]) = ?\($0 + 1)" }.joined(separator: " AND ")
        let sql =
            """
            INSERT INTO \(name.quotedName) (\(list)) VALUES (\(RecordStatements.marks(parameters.count))) \
            ON CONFLICT (\(target)) DO \(action)
            """
        return UpsertPlan(
            sql: "\(sql) RETURNING \(columnList)", silentSQL: sql,
            columns: parameters,
            findSQL: "SELECT \(columnList) FROM \(name.quotedName) WHERE \(condition)",
            key: key)
    }

    /// Returns the columns to overwrite, without those that the library writes; nil for DO NOTHING.
    private func overwritten(_ columns: UpsertColumns<Record>, key: [Int]) throws(ActiveObjectError) -> [Int]? {
        let chosen: [Int]
        switch columns.choice {
        case .nothing: return nil
        case .only:
            chosen = try fieldIndexes(of: columns.keyPaths) + [saving.managed.updated?.column].compactMap { $0 }
        case .allBut:
            let left = try fieldIndexes(of: columns.keyPaths) + key
            chosen = fields.indices.filter { !left.contains($0) || $0 == saving.managed.updated?.column }
        }
        let never = [0, saving.managed.created?.column, saving.managed.version?.column]
        return Set(chosen).subtracting(never.compactMap { $0 }).sorted()
    }

    private func fieldIndexes(of keyPaths: [PartialKeyPath<Record>]) throws(ActiveObjectError) -> [Int] {
        var indexes: [Int] = []
        for keyPath in keyPaths { indexes.append(try fieldIndex(of: keyPath)) }
        return indexes
    }

    private func checkIsUnique(_ key: [Int]) throws(ActiveObjectError) {
        if key == [0] { return }
        var declared: [[Int]] = []
        for index in indexes where index.isUnique { declared.append(try fieldIndexes(of: index.keyPaths)) }
        if declared.contains(where: { Set($0) == Set(key) }) { return }
        func text(_ indexes: [Int]) -> String { "(" + indexes.map { fields[$0].column }.joined(separator: ", ") + ")" }
        let known = declared.isEmpty ? "it has none" : "it has \(declared.map(text).joined(separator: ", "))"
        throw ActiveObjectError(
            .badRecord,
            message: """
                \(name) has no unique key \(text(key)) to upsert on; \(known). Declare one in \(Record.self).indexes: \
                .unique(\(key.map { "\\.\(fields[$0].property.name)" }.joined(separator: ", ")))
                """, table: name)
    }
}
