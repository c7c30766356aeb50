/// A column as a criterion, an order or a change names it. Which one it is, the table knows.
enum ColumnPath<Record: ActiveRecord>: @unchecked Sendable {
    // Unchecked: a key path to a stored property holds nothing, and those to anything else are refused by the table.
    case property(PartialKeyPath<Record>)
    case name(String)
    /// `objectId`. Code for all records cannot name it by key path: theirs is that of the protocol.
    case key

    func field(in table: Table<Record>) throws(ActiveObjectError) -> Table<Record>.Field {
        switch self {
        case .property(let keyPath): try table.field(keyPath)
        case .name(let name): try table.field(named: name)
        case .key: table.fields[0]
        }
    }
}

/// Columns whose values have no order, nor any meaning but as a whole.
protocol WholeCodec {}
extension JSONCodec: WholeCodec {}
extension OptionalCodec: WholeCodec where Wrapped: WholeCodec {}

extension Table {
    /// The value as the column would hold it.
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
            "\(name).\(field.column) holds JSON, which has no order: its values can only be equal or not",
            table: name, column: field.column)
    }
}
