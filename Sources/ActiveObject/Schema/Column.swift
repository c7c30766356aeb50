/// What is unusual about one column: everything that is not said follows from the property.
///
/// A column is called what its property is called, or what the type's `CodingKeys` call it, if it is `Decodable`; a
/// property that those leave out has no column.
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

    /// - Parameters:
    ///   - name: the column's name, if not the property's.
    ///   - isPrivate: the value is never shown, not even in errors.
    ///   - isStored: false for a property that has no column. It must be optional, and is nil in what is read.
    ///   - dates: how a date is kept.
    ///   - ignoresCase: text is compared, sorted and unique without regard to the case of A to Z.
    ///   - defaultValue: what rows get that were there before the property was, as the column holds it. Needed only where
    ///     the property is not optional and 0, "" or an empty blob will not do: for dates, and for most enums, UUIDs and
    ///     nested values.
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

/// An index over one or more columns, perhaps a unique key.
///
/// ```swift
/// static var indexes: [Index<Person>] { [.unique(\.name), Index(\.rank, \.age)] }
/// ```
///
/// Its name is `persons_name_key` or `persons_rank_age_index`. An index of such a name that the type no longer declares
/// is dropped, so two types with one table must declare the same ones; indexes of other names are left alone.
public struct Index<Record> {
    let keyPaths: [PartialKeyPath<Record>]
    let isUnique: Bool

    public init(_ keyPaths: PartialKeyPath<Record>...) {
        self.init(keyPaths, isUnique: false)
    }

    public static func unique(_ keyPaths: PartialKeyPath<Record>...) -> Index {
        Index(keyPaths, isUnique: true)
    }

    private init(_ keyPaths: [PartialKeyPath<Record>], isUnique: Bool) {
        self.keyPaths = keyPaths
        self.isUnique = isUnique
    }
}
