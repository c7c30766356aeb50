/// The properties of a column that differ from the conventions.
///
/// By default a column has the name of its property, or the name that the type's `CodingKeys` give it if the type is
/// `Decodable`. A property without a coding key has no column.
///
/// ```swift
/// static var columns: [Column<Person>] {
///     [Column(\.name, named: "full_name"), Column(\.income, isPrivate: true), Column(\.draft, isStored: false)]
/// }
/// ```
public struct Column<Record> {
    let keyPath: PartialKeyPath<Record>
    let name: String?
    let isPrivate: Bool
    let isStored: Bool
    let dates: DateForm?
    let ignoresCase: Bool
    let defaultValue: SQLValue?

    /// Creates a description of the column of a property.
    ///
    /// - Parameters:
    ///   - keyPath: The property.
    ///   - name: The name of the column, if it differs from the property's.
    ///   - isPrivate: Whether the value must never be shown, not even in errors.
    ///   - isStored: False for a property without a column. It must be optional, and is nil in records that are read.
    ///   - dates: The form in which dates are stored.
    ///   - ignoresCase: Whether comparisons, order and unique indexes of a text ignore the case of A to Z.
    ///   - defaultValue: The value for existing rows when the column is added, as the column stores it. It is only
    ///     needed if the property is not optional and 0, "" or an empty blob is not a valid value: for dates, and for
    ///     most enums, UUIDs and nested values.
    public init<Value>(
        _ keyPath: KeyPath<Record, Value>, named name: String? = nil, isPrivate: Bool = false, isStored: Bool = true,
        dates: DateForm? = nil, ignoresCase: Bool = false, default defaultValue: SQLValue? = nil
    ) {
        self.keyPath = keyPath
        self.name = name
        self.isPrivate = isPrivate
        self.isStored = isStored
        self.dates = dates
        self.ignoresCase = ignoresCase
        self.defaultValue = defaultValue
    }
}

/// An index over one or more columns, optionally unique.
///
/// ```swift
/// static var indexes: [Index<Person>] { [.unique(\.name), Index(\.rank, \.age)] }
/// ```
///
/// It is named `persons_name_key` or `persons_rank_age_index`. An index with such a name that the type no longer
/// declares is dropped, so two types with one table must declare the same indexes. Indexes with other names are never
/// changed.
public struct Index<Record> {
    let keyPaths: [PartialKeyPath<Record>]
    let isUnique: Bool

    /// Creates an index over columns.
    public init(_ keyPaths: PartialKeyPath<Record>...) {
        self.init(keyPaths, isUnique: false)
    }

    /// Returns a unique index over columns.
    public static func unique(_ keyPaths: PartialKeyPath<Record>...) -> Index {
        Index(keyPaths, isUnique: true)
    }

    private init(_ keyPaths: [PartialKeyPath<Record>], isUnique: Bool) {
        self.keyPaths = keyPaths
        self.isUnique = isUnique
    }
}
