// Nil satisfies all of these rules except `present`. Presence and form of a value are two separate rules.

extension Rule {
    /// Returns a rule that the value is not nil.
    public static func present<Value>(_ keyPath: KeyPath<Record, Value?>) -> Rule {
        Rule(keyPath, message: "must be given") { $0 != nil }
    }

    /// Returns a rule that a text, a blob or a list is not empty.
    public static func notEmpty<Value: Collection>(_ keyPath: KeyPath<Record, Value>) -> Rule {
        Rule(keyPath, message: "must not be empty") { !$0.isEmpty }
    }

    /// Returns a rule that a text, a blob or a list is nil or not empty.
    public static func notEmpty<Value: Collection>(_ keyPath: KeyPath<Record, Value?>) -> Rule {
        Rule(keyPath, message: "must not be empty") { $0?.isEmpty != true }
    }

    /// Returns a rule about the number of characters of a text, or of elements of another collection.
    ///
    /// - Parameters:
    ///   - keyPath: The property.
    ///   - range: The allowed numbers, such as `1...20` or `8...`.
    public static func length<Value: Collection>(
        _ keyPath: KeyPath<Record, Value>, in range: some RangeExpression<Int>
    ) -> Rule {
        Rule(keyPath, message: lengthMessage(for: Value.self, in: range)) { range.contains($0.count) }
    }

    /// Returns a rule about the number of characters of a text, or of elements of another collection, that may be nil.
    ///
    /// - Parameters:
    ///   - keyPath: The property.
    ///   - range: The allowed numbers, such as `1...20` or `8...`.
    public static func length<Value: Collection>(
        _ keyPath: KeyPath<Record, Value?>, in range: some RangeExpression<Int>
    ) -> Rule {
        Rule(keyPath, message: lengthMessage(for: Value.self, in: range)) {
            $0.map { range.contains($0.count) } ?? true
        }
    }

    /// Returns a rule that the value is in a range. Error messages show its bounds.
    ///
    /// - Parameters:
    ///   - keyPath: The property.
    ///   - range: The allowed values, such as `0...150`.
    public static func range<Value: Comparable>(
        _ keyPath: KeyPath<Record, Value>, in range: some RangeExpression<Value>
    ) -> Rule {
        Rule(keyPath, message: "must be \(text(of: range))") { range.contains($0) }
    }

    /// Returns a rule that the value is nil or in a range. Error messages show its bounds.
    ///
    /// - Parameters:
    ///   - keyPath: The property.
    ///   - range: The allowed values, such as `0...150`.
    public static func range<Value: Comparable>(
        _ keyPath: KeyPath<Record, Value?>, in range: some RangeExpression<Value>
    ) -> Rule {
        Rule(keyPath, message: "must be \(text(of: range))") { $0.map { range.contains($0) } ?? true }
    }

    /// Returns a rule that no other row has the same value or, for several properties, the same combination of values.
    /// Rows with a nil among them count as different, as in SQL.
    ///
    /// The rule is checked in the transaction that saves the record. It costs a search, so the columns should have an
    /// index. A unique ``Index`` has a less specific message, but needs no search of its own.
    public static func unique(_ keyPaths: PartialKeyPath<Record>...) -> Rule {
        Rule(keyPaths, check: .unique)
    }
}

private func lengthMessage<Value>(for type: Value.Type, in range: some RangeExpression<Int>) -> String {
    "must have \(text(of: range)) \(type is any StringProtocol.Type ? "characters" : "elements")"
}

private func text<Bound>(of range: some RangeExpression<Bound>) -> String {
    switch range {
    case let range as ClosedRange<Bound>: "\(range.lowerBound) to \(range.upperBound)"
    case let range as Range<Bound>: "\(range.lowerBound) to less than \(range.upperBound)"
    case let range as PartialRangeFrom<Bound>: "at least \(range.lowerBound)"
    case let range as PartialRangeThrough<Bound>: "at most \(range.upperBound)"
    case let range as PartialRangeUpTo<Bound>: "less than \(range.upperBound)"
    default: "within \(range)"
    }
}
