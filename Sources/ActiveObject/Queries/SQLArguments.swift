public import FoundationEssentials

/// What is bound to the parameters of raw SQL: a list for `?`, a dictionary for `:name`, `@name` and `$name`.
///
/// ```swift
/// try snapshot.rows("SELECT name FROM persons WHERE age > ?", [18])
/// try snapshot.rows("SELECT name FROM persons WHERE age > :age", [":age": 18])
/// ```
public enum SQLArguments: Sendable, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
    case list([SQLValue])
    case named([String: SQLValue])

    public init(arrayLiteral elements: SQLValue...) {
        self = .list(elements)
    }

    /// Of a name that is there twice, the last value counts.
    public init(dictionaryLiteral elements: (String, SQLValue)...) {
        self = .named(Dictionary(elements) { _, last in last })
    }
}

extension SQLValue {
    public init(_ value: Int) { self = .integer(Int64(value)) }
    public init(_ value: Int64) { self = .integer(value) }
    public init(_ value: Bool) { self = .integer(value ? 1 : 0) }
    public init(_ value: Double) { self = .real(value) }
    public init(_ value: String) { self = .text(value) }
    public init(_ value: Data) { self = .blob(value) }
    /// As a column of UUIDs holds it.
    public init(_ value: UUID) { self = .text(value.uuidString) }
    /// As a column of dates holds it that says nothing of its form: `DateForm.exact`.
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
                    throw ActiveObjectError(.badSQL, "there is no parameter \(name) in \"\(sql)\"", sql: sql)
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
        ActiveObjectError(.badSQL, "\"\(sql)\" takes \(parameterCount) values and was given \(count)", sql: sql)
    }
}
