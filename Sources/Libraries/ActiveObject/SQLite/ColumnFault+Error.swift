extension ColumnFault {
    /// Returns the error for the caller, with the table and the column of the fault. It shows the value that was found
    /// only if the column is not private.
    func error(
        table: String, column: String, wanted: ValueClass?, isPrivate: Bool, found: SQLValue? = nil
    ) -> ActiveObjectError {
        error(
            about: "\(table).\(column)", table: table, column: column, wanted: wanted, isPrivate: isPrivate,
            found: found)
    }

    /// Returns the error for a value that belongs to no known column.
    func error(in sql: String) -> ActiveObjectError {
        error(
            about: "a value in \"\(sql.shownSQL)\"", table: nil, column: nil, wanted: nil, isPrivate: true, found: nil)
    }

    private func error(
        about subject: String, table: String?, column: String?, wanted: ValueClass?, isPrivate: Bool, found: SQLValue?
    ) -> ActiveObjectError {
        let shown = found.flatMap { isPrivate ? nil : $0.shortened }.map { ": \($0)" } ?? ""
        func make(_ code: ActiveObjectError.Code, problem: String, valueClass: ValueClass? = nil) -> ActiveObjectError {
            ActiveObjectError(
                code, message: "\(subject) \(problem)", table: table, column: column, valueClass: valueClass ?? wanted)
        }
        switch self {
        case .found(.null, let wanted):
            return make(
                .missingValue, problem: "is NULL, but the property must have a value (\(wanted))", valueClass: .null)
        case .found(let found, let wanted):
            return make(
                .typeMismatch, problem: "holds a value of class \(found), but the property needs \(wanted)\(shown)",
                valueClass: found)
        case .outOfRange(let type): return make(.outOfRange, problem: "has a number that does not fit \(type)\(shown)")
        case .notANumber: return make(.outOfRange, problem: "was given NaN, which SQLite cannot store")
        case .notUTF8: return make(.typeMismatch, problem: "holds text that is not UTF-8")
        case .unreadable(let type):
            return make(.typeMismatch, problem: "holds a value that is not a valid \(type)\(shown)")
        case .unwritable(let type):
            return make(.typeMismatch, problem: "was given a \(type) that cannot be written as JSON")
        case .tooBig: return make(.outOfRange, problem: "was given a value that is longer than SQLite allows")
        case .notOfType(let type):
            return make(.typeMismatch, problem: "was compared with a value that is not of type \(type)")
        case .sqlite(let code): return make(.other, problem: "could not be bound (SQLite's code \(code))")
        }
    }
}

extension SQLValue {
    /// The value shortened for a message, so that it can be recognized. Nil for NULL.
    var shortened: String? {
        switch self {
        case .null: return nil
        case .integer(let value): return "\(value)"
        case .real(let value): return "\(value)"
        case .text(let value):
            let characters = value.unicodeScalars.prefix(40)
            let start = String(String.UnicodeScalarView(characters)).debugDescription
            return characters.endIndex == value.unicodeScalars.endIndex ? start : "\(start)…"
        case .blob(let value): return "\(value.count) bytes"
        }
    }
}
