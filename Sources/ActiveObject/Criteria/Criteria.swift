/// What rows must be like: built from key paths, checked by the compiler, run by SQLite.
///
/// ```swift
/// Person.where(\.age >= 18 && \.sex != .male || .hasPrefix(\.name, "J"))
/// let adults: Criteria<Person> = \.age ~= 18...
/// let old: Criteria<Person> = ["name": "Joe", "rank": 3]
/// ```
///
/// A criterion means what the same expression means in Swift: it is true or false, also where a property is nil, so
/// `\.rank != 3` and `!(\.rank < 3)` hold for a row whose rank is nil. Two things are SQLite's: texts are equal if their
/// UTF-8 is (Swift takes é in its two spellings for the same), and a column that ignores case does so here too. Enums
/// are compared as their raw values, dates in the form of their column, nested JSON as text and for equality only.
///
/// Chains of `&&` and of `||` may be thousands of terms long, and the two may alternate about twenty deep. Where a long
/// `||` asks for many values of one column, `isIn` says the same and is quicker to prepare by far.
///
/// Values are bound, never part of the statement. What cannot be asked (a number that does not fit, a column that is
/// not there) is told when the criterion is used.
public struct Criteria<Record: ActiveRecord>: Sendable {
    let node: CriteriaNode<Record>

    init(_ node: CriteriaNode<Record>) {
        self.node = node
    }

    init(_ column: ColumnPath<Record>, _ test: Condition<Record>.Test) {
        node = .condition(Condition(column: column, test: test))
    }

    /// True for every row.
    public static var all: Criteria { Criteria(.constant(true)) }
    /// True for no row.
    public static var nothing: Criteria { Criteria(.constant(false)) }

    /// All of them hold; without any, it is true.
    public static func all(of criteria: some Sequence<Criteria>) -> Criteria {
        criteria.reduce(.all) { $0 && $1 }
    }

    /// At least one of them holds; without any, it is false.
    public static func any(of criteria: some Sequence<Criteria>) -> Criteria {
        criteria.reduce(.nothing) { $0 || $1 }
    }

    public static func && (one: Criteria, other: Criteria) -> Criteria {
        Criteria(.joined(one.node, other.node, by: .and))
    }

    public static func || (one: Criteria, other: Criteria) -> Criteria {
        Criteria(.joined(one.node, other.node, by: .or))
    }

    public static prefix func ! (criteria: Criteria) -> Criteria {
        Criteria(criteria.node.negated)
    }
}

/// The form of old: names of columns and what they hold, all of which must hold. Nil means NULL.
///
/// The compiler cannot check it: a column that is not there and a value of another class are errors when it is used.
/// Values are those of the column: the raw value of an enum, 0 or 1 for a `Bool`, a date in the column's form.
extension Criteria: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (String, SQLValue)...) {
        self = .all(of: elements.map { Criteria(.name($0.0), .holds($0.1)) })
    }

    public init(_ values: [String: SQLValue]) {
        // In one order, so that the statement is the same each time.
        self = .all(of: values.sorted { $0.key < $1.key }.map { Criteria(.name($0.key), .holds($0.value)) })
    }
}
