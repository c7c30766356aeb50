public import FoundationEssentials

/// The values for the parameters of custom SQL: a list for `?`, a dictionary for `:name`, `@name` and `$name`.
///
/// ```swift
/// try snapshot.rows("SELECT name FROM persons WHERE age > ?", arguments: [18])
/// try snapshot.rows("SELECT name FROM persons WHERE age > :age", arguments: [":age": 18])
/// ```
public enum SQLArguments: Sendable, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
    /// Values in the order of the parameters.
    case list([SQLValue])
    /// Values by the names of the parameters, with or without the prefix `:`.
    case named([String: SQLValue])

    /// Creates a list of values.
    public init(arrayLiteral elements: SQLValue...) {
        self = .list(elements)
    }

    /// Creates named values. If a name occurs twice, the last value is used.
    public init(dictionaryLiteral elements: (String, SQLValue)...) {
        self = .named(Dictionary(elements) { _, last in last })
    }
}

extension SQLValue {
    /// Creates an INTEGER.
    public init(_ value: Int) { self = .integer(Int64(value)) }
    /// Creates an INTEGER.
    public init(_ value: Int64) { self = .integer(value) }
    /// Creates an INTEGER, 1 or 0.
    public init(_ value: Bool) { self = .integer(value ? 1 : 0) }
    /// Creates a REAL.
    public init(_ value: Double) { self = .real(value) }
    /// Creates a TEXT.
    public init(_ value: String) { self = .text(value) }
    /// Creates a BLOB.
    public init(_ value: Data) { self = .blob(value) }
    /// Creates a TEXT in the form of columns of UUIDs.
    public init(_ value: UUID) { self = .text(value.uuidString) }
    /// Creates a REAL in the default form of columns of dates, ``DateForm/exact``.
    public init(_ value: Date) { self = .real(value.timeIntervalSinceReferenceDate) }
}

extension Statement {
    func bind(_ arguments: SQLArguments) throws(ActiveObjectError) {
        switch arguments {
        case .list(let values):
            guard values.count == parameterCount else { throw wrongCount(values.count) }
            for (index, value) in values.enumerated() { try bind(value, at: Int32(index + 1), named: "?\(index + 1)") }
        case .named(let values):
            var bound: Set<Int32> = []
            for (name, value) in values {
                guard let index = parameterIndex(name) ?? parameterIndex(":" + name) else {
                    throw ActiveObjectError(.badSQL, message: "no parameter \(name) in \"\(sql.shownSQL)\"")
                }
                try bind(value, at: index, named: name)
                bound.insert(index)
            }
            guard bound.count == parameterCount else { throw wrongCount(bound.count) }
        }
    }

    private func bind(_ value: SQLValue, at index: Int32, named name: String) throws(ActiveObjectError) {
        do throws(ColumnFault) {
            try bind(value, at: index)
        } catch {
            throw error.error(table: "parameter", column: name, wanted: nil, isPrivate: true)
        }
    }

    private func wrongCount(_ count: Int) -> ActiveObjectError {
        ActiveObjectError(
            .badSQL, message: "\"\(sql.shownSQL)\" takes \(parameterCount) values, but was given \(count)")
    }
}
