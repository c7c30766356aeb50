// Each of these twice: as a member of `Criteria`, which finds the record's type by itself (`.hasPrefix(\.name, "J")`),
// and of the key path, which reads better where the type is named anyway (`(\Person.name).hasPrefix("J")`).

extension Criteria {
    /// The column's value lies in the range, of whichever kind.
    public static func between<Bounds: ColumnRange>(
        _ column: KeyPath<Record, Bounds.Bound>, _ range: Bounds
    ) -> Criteria where Bounds.Bound: Sendable { column ~= range }

    public static func between<Bounds: ColumnRange>(
        _ column: KeyPath<Record, Bounds.Bound?>, _ range: Bounds
    ) -> Criteria where Bounds.Bound: Sendable { column ~= range }

    /// The column holds one of these values; of none, it is false.
    ///
    /// Whole numbers, texts and reals, and so dates in every form, may be any number. Whole numbers and texts go to SQLite
    /// as one JSON array, in one parameter, so that lists of all lengths share a statement. Blobs and texts with a NUL,
    /// which JSON would not bring over unharmed, are parameters each: at most 16,384 of them.
    public static func isIn<Value: Equatable & Sendable>(_ column: KeyPath<Record, Value>, _ values: [Value])
        -> Criteria
    {
        Criteria(.property(column), .isIn(values))
    }

    /// The column is NULL: the same as `== nil`, also for values that are not `Equatable`.
    public static func isNil<Value>(_ column: KeyPath<Record, Value?>) -> Criteria {
        Criteria(.property(column), .isNil)
    }

    public static func isNotNil<Value>(_ column: KeyPath<Record, Value?>) -> Criteria {
        !isNil(column)
    }

    /// SQL's LIKE: `%` stands for any text, `_` for one character; A to Z are the same as a to z, no other letters are.
    /// A text is looked at up to its first NUL.
    ///
    /// - Parameter escape: the character before a `%` or `_` that stands for itself.
    public static func like(_ column: KeyPath<Record, String>, _ pattern: String, escape: Unicode.Scalar? = nil)
        -> Criteria
    {
        Criteria(.property(column), .like(pattern, escape: escape))
    }

    public static func like(_ column: KeyPath<Record, String?>, _ pattern: String, escape: Unicode.Scalar? = nil)
        -> Criteria
    {
        Criteria(.property(column), .like(pattern, escape: escape))
    }

    /// The text begins with these scalars, exactly: case counts, and no character means anything but itself. An index
    /// of the column serves it.
    public static func hasPrefix(_ column: KeyPath<Record, String>, _ prefix: String) -> Criteria {
        Criteria(.property(column), .hasPrefix(prefix))
    }

    public static func hasPrefix(_ column: KeyPath<Record, String?>, _ prefix: String) -> Criteria {
        Criteria(.property(column), .hasPrefix(prefix))
    }

    /// These scalars occur in the text, exactly: case counts.
    public static func contains(_ column: KeyPath<Record, String>, _ part: String) -> Criteria {
        Criteria(.property(column), .contains(part))
    }

    public static func contains(_ column: KeyPath<Record, String?>, _ part: String) -> Criteria {
        Criteria(.property(column), .contains(part))
    }
}

extension KeyPath where Root: ActiveRecord {
    /// The column's value lies in the range, of whichever kind: `(\Person.age).between(18..<30)`.
    public func between<Bounds: ColumnRange<Value>>(_ range: Bounds) -> Criteria<Root> where Value: Sendable {
        self ~= range
    }

    public func between<Bounds: ColumnRange>(_ range: Bounds) -> Criteria<Root>
    where Value == Bounds.Bound?, Bounds.Bound: Sendable {
        self ~= range
    }

    /// See `Criteria.isIn`.
    public func isIn(_ values: [Value]) -> Criteria<Root> where Value: Equatable & Sendable { .isIn(self, values) }

    public func isNil<Wrapped>() -> Criteria<Root> where Value == Wrapped? { .isNil(self) }
    public func isNotNil<Wrapped>() -> Criteria<Root> where Value == Wrapped? { .isNotNil(self) }
}

extension KeyPath where Root: ActiveRecord, Value == String {
    /// See `Criteria.like`.
    public func like(_ pattern: String, escape: Unicode.Scalar? = nil) -> Criteria<Root> {
        .like(self, pattern, escape: escape)
    }

    /// See `Criteria.hasPrefix`.
    public func hasPrefix(_ prefix: String) -> Criteria<Root> { .hasPrefix(self, prefix) }
    /// See `Criteria.contains`.
    public func contains(_ part: String) -> Criteria<Root> { .contains(self, part) }
}

extension KeyPath where Root: ActiveRecord, Value == String? {
    /// See `Criteria.like`.
    public func like(_ pattern: String, escape: Unicode.Scalar? = nil) -> Criteria<Root> {
        .like(self, pattern, escape: escape)
    }

    /// See `Criteria.hasPrefix`.
    public func hasPrefix(_ prefix: String) -> Criteria<Root> { .hasPrefix(self, prefix) }
    /// See `Criteria.contains`.
    public func contains(_ part: String) -> Criteria<Root> { .contains(self, part) }
}
