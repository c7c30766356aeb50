/// A property with the `objectId` of another record, either required or optional.
struct ForeignKey<Record: ActiveRecord>: @unchecked Sendable {
    // Unchecked: key paths to stored properties capture no values, but are not marked Sendable.
    let keyPath: PartialKeyPath<Record>
    private let required: KeyPath<Record, Int64>?
    private let optional: KeyPath<Record, Int64?>?

    init(_ keyPath: KeyPath<Record, Int64>) {
        (self.keyPath, required, optional) = (keyPath, keyPath, nil)
    }

    init(_ keyPath: KeyPath<Record, Int64?>) {
        (self.keyPath, required, optional) = (keyPath, nil, keyPath)
    }

    func value(in record: Record) -> Int64? {
        if let required { return record[keyPath: required] }
        return optional.flatMap { record[keyPath: $0] }
    }

    func set(_ id: Int64?, in record: inout Record) throws {
        let table = try Tables.table(of: Record.self)
        let field = try table.field(keyPath)
        func badRecord(_ text: String) -> ActiveObjectError {
            ActiveObjectError(
                .badRecord, message: "\(table.name).\(field.column) \(text)", table: table.name, column: field.column
            )
        }
        if let optional = optional as? WritableKeyPath<Record, Int64?> {
            record[keyPath: optional] = id
        } else if let required = required as? WritableKeyPath<Record, Int64> {
            guard let id else {
                throw badRecord("must refer to a row; remove the record, or make the property optional")
            }
            record[keyPath: required] = id
        } else {
            throw badRecord("cannot be set; make the property a `var`")
        }
    }

    func column(in table: Table<Record>) throws -> String {
        try table.field(keyPath).column.quotedName
    }
}

extension ActiveRecord {
    /// Returns the key of a record to which others will refer.
    func savedID() throws -> Int64 {
        guard let objectId else {
            throw ActiveObjectError(
                .missingValue, message: "a \(Self.self) without objectId cannot be referred to; save it first",
                table: Self.tableName, column: "objectId")
        }
        return objectId
    }
}
