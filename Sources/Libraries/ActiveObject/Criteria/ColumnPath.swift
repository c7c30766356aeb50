/// A column as a criterion, an order or an assignment names it. The table resolves it.
enum ColumnPath<Record: ActiveRecord>: @unchecked Sendable {
    // Unchecked: key paths to stored properties capture no values, and the table rejects all others.
    case property(PartialKeyPath<Record>)
    case name(String)
    /// The column of `objectId`. Generic code cannot name it by key path, because it sees the key path of the protocol.
    case key

    func field(in table: Table<Record>) throws(ActiveObjectError) -> Table<Record>.Field {
        switch self {
        case .property(let keyPath): try table.field(keyPath)
        case .name(let name): try table.field(named: name)
        case .key: table.fields[0]
        }
    }
}

/// A codec whose values have no order and can only be compared as a whole.
protocol UnorderedCodec {}
extension JSONCodec: UnorderedCodec {}
extension OptionalCodec: UnorderedCodec where Wrapped: UnorderedCodec {}

extension Table {
    /// Returns the value as the column would store it.
    func stored(_ value: Any, in field: Field) throws(ActiveObjectError) -> SQLValue {
        do throws(ColumnFault) {
            return try field.codec.stored(any: value)
        } catch {
            throw self.error(error, in: field)
        }
    }

    func hasNoOrder(_ field: Field) -> ActiveObjectError {
        ActiveObjectError(
            .typeMismatch,
            message: "\(name).\(field.column) holds JSON, which has no order: its values can only be equal or not",
            table: name, column: field.column)
    }
}
