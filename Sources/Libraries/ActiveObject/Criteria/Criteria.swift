/// A condition for rows, written with key paths and operators, checked by the compiler and evaluated by SQLite.
///
/// ```swift
/// Person.where(\.age >= 18 && \.sex != .male || .hasPrefix(\.name, prefix: "J"))
/// let adults: Criteria<Person> = \.age ~= 18...
/// let joes: Criteria<Person> = ["name": "Joe", "rank": 3]
/// ```
///
/// A criterion means the same as the expression in Swift: it is true or false even if a property is nil, so `\.rank !=
/// 3` and `!(\.rank < 3)` are true for a row whose rank is nil. Two rules are SQLite's: texts are equal if their UTF-8
/// is equal (Swift treats the two encodings of é as equal), and a column that ignores case also ignores it here. Enums
/// are compared by their raw values, dates in the form of their column, and nested JSON as text and for equality only.
///
/// Chains of `&&` and of `||` can have thousands of terms, and the two can alternate about twenty levels deep. For many
/// values of one column, ``isIn(_:values:)`` is much faster to prepare than a long `||`.
///
/// Values are bound and never part of the SQL. A number that does not fit its column or a column that does not exist
/// causes an error when the criterion is used.
public struct Criteria<Record: ActiveRecord>: Sendable {
    let node: CriteriaNode<Record>

    init(_ node: CriteriaNode<Record>) {
        self.node = node
    }

    init(_ column: ColumnPath<Record>, satisfies test: Condition<Record>.Test) {
        node = .condition(Condition(column: column, test: test))
    }

    /// A criterion that is true for every row.
    public static var all: Criteria { Criteria(.constant(true)) }
    /// A criterion that is false for every row.
    public static var nothing: Criteria { Criteria(.constant(false)) }

    /// Returns a criterion that all of `criteria` are true. It is true if there are none.
    public static func all(of criteria: some Sequence<Criteria>) -> Criteria {
        criteria.reduce(.all) { $0 && $1 }
    }

    /// Returns a criterion that at least one of `criteria` is true. It is false if there are none.
    public static func any(of criteria: some Sequence<Criteria>) -> Criteria {
        criteria.reduce(.nothing) { $0 || $1 }
    }

    /// Returns a criterion that both are true.
    public static func && (one: Criteria, other: Criteria) -> Criteria {
        Criteria(one.node.joined(with: other.node, by: .and))
    }

    /// Returns a criterion that at least one is true.
    public static func || (one: Criteria, other: Criteria) -> Criteria {
        Criteria(one.node.joined(with: other.node, by: .or))
    }

    /// Returns a criterion that `criteria` is false.
    public static prefix func ! (criteria: Criteria) -> Criteria {
        Criteria(criteria.node.negated)
    }
}

/// Criteria as dictionaries of column names and values, all of which must match. Nil means NULL.
///
/// The compiler cannot check them: a column that does not exist or a value of another class causes an error when the
/// criterion is used. Values are those of the column: the raw value of an enum, 0 or 1 for a `Bool`, a date in the
/// column's form.
extension Criteria: ExpressibleByDictionaryLiteral {
    /// Creates a criterion from column names and values: `["name": "Joe", "rank": 3]`.
    public init(dictionaryLiteral elements: (String, SQLValue)...) {
        self = .all(of: elements.map { Criteria(.name($0.0), satisfies: .holds($0.1)) })
    }

    /// Creates a criterion from column names and values, all of which must match.
    public init(_ values: [String: SQLValue]) {
        // Sort the names, so that the SQL is the same each time.
        self = .all(of: values.sorted { $0.key < $1.key }.map { Criteria(.name($0.key), satisfies: .holds($0.value)) })
    }
}
