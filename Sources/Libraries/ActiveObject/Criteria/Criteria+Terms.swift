// Each criterion exists twice: as a member of `Criteria`, for which the compiler infers the record's type
// (`.hasPrefix(\.name, prefix: "J")`), and as a member of the key path, which reads better where the type is written
// anyway (`(\Person.name).hasPrefix("J")`).

extension Criteria {
    /// Returns a criterion that the column's value is in the range.
    public static func between<Bounds: ColumnRange>(
        _ column: KeyPath<Record, Bounds.Bound>, range: Bounds
    ) -> Criteria where Bounds.Bound: Sendable { column ~= range }

    /// Returns a criterion that the column's value is in the range. NULL is not in any range.
    public static func between<Bounds: ColumnRange>(
        _ column: KeyPath<Record, Bounds.Bound?>, range: Bounds
    ) -> Criteria where Bounds.Bound: Sendable { column ~= range }

    /// Returns a criterion that the column has one of the values. It is false if there are no values.
    ///
    /// The number of values is not limited for numbers and texts, and therefore dates in every form. Whole numbers and
    /// texts are passed to SQLite as one JSON array in one parameter, so that lists of all lengths share a statement.
    /// Blobs, and texts with a NUL, cannot be passed as JSON. Each of them is a parameter, and at most 16,384 are
    /// allowed.
    public static func isIn<Value: Equatable & Sendable>(
        _ column: KeyPath<Record, Value>, values: [Value]
    ) -> Criteria {
        Criteria(.property(column), satisfies: .isIn(values))
    }

    /// Returns a criterion that the column is NULL. Unlike `== nil` it does not need an `Equatable` value.
    public static func isNil<Value>(_ column: KeyPath<Record, Value?>) -> Criteria {
        Criteria(.property(column), satisfies: .isNil)
    }

    /// Returns a criterion that the column is not NULL. Unlike `!= nil` it does not need an `Equatable` value.
    public static func isNotNil<Value>(_ column: KeyPath<Record, Value?>) -> Criteria {
        !isNil(column)
    }

    /// Returns a criterion that the text matches a pattern of SQL's LIKE.
    ///
    /// `%` matches any text and `_` one character. The case of A to Z is ignored, that of other letters is not. A text
    /// is compared up to its first NUL.
    ///
    /// - Parameters:
    ///   - column: The column.
    ///   - pattern: The pattern.
    ///   - escape: The character before a `%` or `_` that stands for itself.
    public static func like(
        _ column: KeyPath<Record, String>, pattern: String, escape: Unicode.Scalar? = nil
    ) -> Criteria {
        Criteria(.property(column), satisfies: .like(pattern, escape: escape))
    }

    /// Returns a criterion that the text matches a pattern of SQL's LIKE. NULL does not match.
    ///
    /// - Parameters:
    ///   - column: The column.
    ///   - pattern: The pattern.
    ///   - escape: The character before a `%` or `_` that stands for itself.
    public static func like(
        _ column: KeyPath<Record, String?>, pattern: String, escape: Unicode.Scalar? = nil
    ) -> Criteria {
        Criteria(.property(column), satisfies: .like(pattern, escape: escape))
    }

    /// Returns a criterion that the text begins with exactly these scalars. Case matters, and there are no wildcards.
    /// An index of the column makes it fast.
    public static func hasPrefix(_ column: KeyPath<Record, String>, prefix: String) -> Criteria {
        Criteria(.property(column), satisfies: .hasPrefix(prefix))
    }

    /// Returns a criterion that the text is not NULL and begins with exactly these scalars.
    public static func hasPrefix(_ column: KeyPath<Record, String?>, prefix: String) -> Criteria {
        Criteria(.property(column), satisfies: .hasPrefix(prefix))
    }

    /// Returns a criterion that the text contains exactly these scalars. Case matters.
    public static func contains(_ column: KeyPath<Record, String>, text part: String) -> Criteria {
        Criteria(.property(column), satisfies: .contains(part))
    }

    /// Returns a criterion that the text is not NULL and contains exactly these scalars.
    public static func contains(_ column: KeyPath<Record, String?>, text part: String) -> Criteria {
        Criteria(.property(column), satisfies: .contains(part))
    }
}

extension KeyPath where Root: ActiveRecord {
    /// Returns a criterion that the column's value is in the range: `(\Person.age).between(18..<30)`.
    public func between<Bounds: ColumnRange<Value>>(_ range: Bounds) -> Criteria<Root> where Value: Sendable {
        self ~= range
    }

    /// Returns a criterion that the column's value is in the range. NULL is not in any range.
    public func between<Bounds: ColumnRange>(_ range: Bounds) -> Criteria<Root>
    where Value == Bounds.Bound?, Bounds.Bound: Sendable {
        self ~= range
    }

    /// Returns a criterion that the column has one of the values; see ``Criteria/isIn(_:values:)``.
    public func isIn(_ values: [Value]) -> Criteria<Root> where Value: Equatable & Sendable {
        .isIn(self, values: values)
    }

    /// Returns a criterion that the column is NULL.
    public func isNil<Wrapped>() -> Criteria<Root> where Value == Wrapped? { .isNil(self) }
    /// Returns a criterion that the column is not NULL.
    public func isNotNil<Wrapped>() -> Criteria<Root> where Value == Wrapped? { .isNotNil(self) }
}

extension KeyPath where Root: ActiveRecord, Value == String {
    /// Returns a criterion that the text matches a pattern of SQL's LIKE.
    ///
    /// - Parameters:
    ///   - pattern: The pattern, with `%` for any text and `_` for one character.
    ///   - escape: The character before a `%` or `_` that stands for itself.
    public func like(_ pattern: String, escape: Unicode.Scalar? = nil) -> Criteria<Root> {
        .like(self, pattern: pattern, escape: escape)
    }

    /// Returns a criterion that the text begins with exactly these scalars.
    public func hasPrefix(_ prefix: String) -> Criteria<Root> { .hasPrefix(self, prefix: prefix) }
    /// Returns a criterion that the text contains exactly these scalars.
    public func contains(_ part: String) -> Criteria<Root> { .contains(self, text: part) }
}

extension KeyPath where Root: ActiveRecord, Value == String? {
    /// Returns a criterion that the text matches a pattern of SQL's LIKE.
    ///
    /// - Parameters:
    ///   - pattern: The pattern, with `%` for any text and `_` for one character.
    ///   - escape: The character before a `%` or `_` that stands for itself.
    public func like(_ pattern: String, escape: Unicode.Scalar? = nil) -> Criteria<Root> {
        .like(self, pattern: pattern, escape: escape)
    }

    /// Returns a criterion that the text begins with exactly these scalars.
    public func hasPrefix(_ prefix: String) -> Criteria<Root> { .hasPrefix(self, prefix: prefix) }
    /// Returns a criterion that the text contains exactly these scalars.
    public func contains(_ part: String) -> Criteria<Root> { .contains(self, text: part) }
}
