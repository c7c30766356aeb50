import FoundationEssentials

/// A row of a custom SQL statement, with values by column name or by index.
///
/// ```swift
/// for row in try snapshot.rows("SELECT name, max(age) AS oldest FROM persons GROUP BY name") {
///     let name = try row["name", as: String.self]
///     let oldest = try row["oldest", as: Int?.self]
/// }
/// ```
public struct Row: Sendable, Equatable {
    /// The names of the columns as SQLite reports them. An expression without AS is named by its text.
    public let columns: [String]
    /// The values, in the order of ``columns``.
    public let values: [SQLValue]

    /// The value of the first column with that name; nil if there is none.
    public subscript(column: String) -> SQLValue? {
        columns.firstIndex(of: column).map { values[$0] }
    }

    /// The value of the first column with that name, converted to a Swift type.
    ///
    /// The type can be a whole number, a real, a `String`, `Bool`, `Data`, `UUID` or `Date`, a type with a raw value
    /// such as an enum, a ``ColumnValue``, or an optional of these. A date is read by the class of the value: a real as
    /// ``DateForm/exact``, a whole number as milliseconds since 1970, a text as ISO 8601.
    ///
    /// - Throws: ``ActiveObjectError`` with the column's name: `typeMismatch`, `missingValue` or `outOfRange` if the
    ///   value does not fit the type, `badSQL` if there is no such column.
    public subscript<Value>(column: String, as type: Value.Type) -> Value {
        get throws {
            guard let index = columns.firstIndex(of: column) else {
                throw ActiveObjectError(
                    .badSQL, message: "the row has no column \(column); it has \(columns.joined(separator: ", "))",
                    column: column)
            }
            return try self[index, as: type]
        }
    }

    /// The value at an index, converted to a Swift type; see ``subscript(_:as:)-(String,_)``.
    public subscript<Value>(index: Int, as type: Value.Type) -> Value {
        get throws {
            guard values.indices.contains(index) else {
                throw ActiveObjectError(
                    .badSQL, message: "the row has \(columns.count) columns, but none at index \(index)")
            }
            do throws(ColumnFault) {
                // The conversion depends on the type, so the cast succeeds.
                guard let value = try swiftValue(of: values[index], as: type) as? Value else {
                    throw .notOfType("\(type)")
                }
                return value
            } catch {
                throw error.error(table: "row", column: columns[index], wanted: nil, isPrivate: false)
            }
        }
    }

    /// The value at an index; nil if the index is out of range.
    public subscript(index: Int) -> SQLValue? {
        values.indices.contains(index) ? values[index] : nil
    }
}

/// Returns the value as `type`, boxed because the type is only known at run time.
private func swiftValue(of value: SQLValue, as type: Any.Type) throws(ColumnFault) -> Any {
    switch (type, value) {
    case (is SQLValue.Type, _): return value
    case (let type as any OptionalType.Type, _):
        return value == .null ? nilValue(type) : try swiftValue(of: value, as: type.wrappedType)
    case (let type as any ColumnValue.Type, _):
        guard let own = type.init(sqlValue: value) else { throw .unreadable(type: "\(type)") }
        return own
    case (let type as any FixedWidthInteger.Type, .integer(let number)):
        guard let fitting = exactly(number, as: type) else { throw .outOfRange(type: "\(type)") }
        return fitting
    case (is Bool.Type, .integer(let number)):
        guard number == 0 || number == 1 else { throw .outOfRange(type: "Bool") }
        return number == 1
    case (is Double.Type, .real(let number)): return number
    case (is Double.Type, .integer(let number)): return Double(number)
    case (is Float.Type, .real(let number)): return try Float.narrowed(number)
    case (is Float.Type, .integer(let number)): return Float(number)
    case (is String.Type, .text(let text)): return text
    case (is Data.Type, .blob(let data)): return data
    case (is UUID.Type, .text(let text)):
        guard let uuid = UUID(uuidString: text) else { throw .unreadable(type: "UUID") }
        return uuid
    case (is Date.Type, .real(let seconds)): return Date(timeIntervalSinceReferenceDate: seconds)
    case (is Date.Type, .integer(let milliseconds)): return Date(timeIntervalSince1970: Double(milliseconds) / 1000)
    case (is Date.Type, .text(let text)): return try ISO8601.date(text)
    case (let type as any RawRepresentable.Type, _): return try rawValue(of: value, as: type)
    default:
        throw value == .null
            ? .found(.null, wanted: wantedClass(type)) : .found(value.valueClass, wanted: wantedClass(type))
    }
}

private func wantedClass(_ type: Any.Type) -> ValueClass {
    CodecLookup.codec(for: type, dates: .exact)?.valueClass ?? .null
}

private func nilValue(_ type: any OptionalType.Type) -> Any {
    func make<Wrapped>(_ wrapped: Wrapped.Type) -> Any { Wrapped?.none as Any }
    return _openExistential(type.wrappedType, do: make)
}

private func exactly<Number: FixedWidthInteger>(_ number: Int64, as type: Number.Type) -> Any? {
    Number(exactly: number)
}

private func rawValue<Value: RawRepresentable>(
    of value: SQLValue, as type: Value.Type
) throws(ColumnFault) -> Any {
    guard let raw = try swiftValue(of: value, as: Value.RawValue.self) as? Value.RawValue,
        let found = Value(rawValue: raw)
    else { throw .unreadable(type: "\(type)") }
    return found
}
