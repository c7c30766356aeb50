// A value that is nil passes all of these but `present`: what must be there and how it must look are two questions.

extension Rule {
    /// The value is not nil.
    public static func present<Value>(_ keyPath: KeyPath<Record, Value?>) -> Rule {
        Rule(keyPath, "must be given") { $0 != nil }
    }

    /// The text, blob or list holds something.
    public static func notEmpty<Value: Collection>(_ keyPath: KeyPath<Record, Value>) -> Rule {
        Rule(keyPath, "must not be empty") { !$0.isEmpty }
    }

    public static func notEmpty<Value: Collection>(_ keyPath: KeyPath<Record, Value?>) -> Rule {
        Rule(keyPath, "must not be empty") { $0?.isEmpty != true }
    }

    /// How many characters a text has, or how many elements anything else.
    public static func length<Value: Collection>(
        _ keyPath: KeyPath<Record, Value>, _ range: some RangeExpression<Int>
    ) -> Rule {
        Rule(keyPath, lengthMessage(Value.self, range)) { range.contains($0.count) }
    }

    public static func length<Value: Collection>(
        _ keyPath: KeyPath<Record, Value?>, _ range: some RangeExpression<Int>
    ) -> Rule {
        Rule(keyPath, lengthMessage(Value.self, range)) { $0.map { range.contains($0.count) } ?? true }
    }

    /// The value lies in the range, whose bounds errors show.
    public static func range<Value: Comparable>(
        _ keyPath: KeyPath<Record, Value>, _ range: some RangeExpression<Value>
    ) -> Rule {
        Rule(keyPath, "must be \(text(of: range))") { range.contains($0) }
    }

    public static func range<Value: Comparable>(
        _ keyPath: KeyPath<Record, Value?>, _ range: some RangeExpression<Value>
    ) -> Rule {
        Rule(keyPath, "must be \(text(of: range))") { $0.map { range.contains($0) } ?? true }
    }

    /// No other row has the same value, or the same values of all that are named. Rows with a nil among them count as
    /// different, as in SQL.
    ///
    /// It is looked up in the transaction, and so holds when the record is saved. It costs a search: give the columns
    /// an index, or declare `Index.unique`, which says less when it is broken but needs no search of its own.
    public static func unique(_ keyPaths: PartialKeyPath<Record>...) -> Rule {
        Rule(keyPaths, .unique)
    }
}

private func lengthMessage<Value>(_ type: Value.Type, _ range: some RangeExpression<Int>) -> String {
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
