/// A range of any kind: `18...30`, `18..<30`, `18...`, `..<30` or `...30`.
public protocol ColumnRange<Bound> {
    /// The type of the bounds.
    associatedtype Bound: Comparable

    /// The bounds of the range.
    var columnBounds: ColumnBounds<Bound> { get }
}

/// The bounds of a range of any kind; nil where the range is unbounded.
public struct ColumnBounds<Bound: Comparable> {
    let lower: Bound?
    let upper: Bound?
    let includesUpper: Bool
}

extension ClosedRange: ColumnRange {
    /// The bounds of the range.
    public var columnBounds: ColumnBounds<Bound> {
        ColumnBounds(lower: lowerBound, upper: upperBound, includesUpper: true)
    }
}

extension Range: ColumnRange {
    /// The bounds of the range.
    public var columnBounds: ColumnBounds<Bound> {
        ColumnBounds(lower: lowerBound, upper: upperBound, includesUpper: false)
    }
}

extension PartialRangeFrom: ColumnRange {
    /// The bounds of the range.
    public var columnBounds: ColumnBounds<Bound> {
        ColumnBounds(lower: lowerBound, upper: nil, includesUpper: false)
    }
}

extension PartialRangeUpTo: ColumnRange {
    /// The bounds of the range.
    public var columnBounds: ColumnBounds<Bound> {
        ColumnBounds(lower: nil, upper: upperBound, includesUpper: false)
    }
}

extension PartialRangeThrough: ColumnRange {
    /// The bounds of the range.
    public var columnBounds: ColumnBounds<Bound> {
        ColumnBounds(lower: nil, upper: upperBound, includesUpper: true)
    }
}

/// Returns a criterion that the column's value is in the range: `\.age ~= 18...30`.
public func ~= <Record: ActiveRecord, Bounds: ColumnRange>(
    column: KeyPath<Record, Bounds.Bound>, range: Bounds
) -> Criteria<Record> where Bounds.Bound: Sendable {
    .bounded(.property(column), by: range.columnBounds)
}

/// Returns a criterion that the column's value is in the range. NULL is not in any range.
public func ~= <Record: ActiveRecord, Bounds: ColumnRange>(
    column: KeyPath<Record, Bounds.Bound?>, range: Bounds
) -> Criteria<Record> where Bounds.Bound: Sendable {
    .bounded(.property(column), by: range.columnBounds)
}

extension Criteria {
    fileprivate static func bounded<Bound: Sendable>(
        _ column: ColumnPath<Record>, by bounds: ColumnBounds<Bound>
    ) -> Criteria {
        var criteria = Criteria.all
        if let lower = bounds.lower { criteria = Criteria(column, satisfies: .compares(.greaterOrEqual, lower)) }
        if let upper = bounds.upper {
            criteria =
                criteria && Criteria(column, satisfies: .compares(bounds.includesUpper ? .lessOrEqual : .less, upper))
        }
        return criteria
    }
}
