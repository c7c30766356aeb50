/// The bounds of any range: `18...30`, `18..<30`, `18...`, `..<30`, `...30`.
public protocol ColumnRange<Bound> {
    associatedtype Bound: Comparable

    var columnBounds: ColumnBounds<Bound> { get }
}

/// Where a range begins and ends, whichever kind it is; nil where it does not.
public struct ColumnBounds<Bound: Comparable> {
    let lower: Bound?
    let upper: Bound?
    let includesUpper: Bool
}

extension ClosedRange: ColumnRange {
    public var columnBounds: ColumnBounds<Bound> {
        ColumnBounds(lower: lowerBound, upper: upperBound, includesUpper: true)
    }
}

extension Range: ColumnRange {
    public var columnBounds: ColumnBounds<Bound> {
        ColumnBounds(lower: lowerBound, upper: upperBound, includesUpper: false)
    }
}

extension PartialRangeFrom: ColumnRange {
    public var columnBounds: ColumnBounds<Bound> {
        ColumnBounds(lower: lowerBound, upper: nil, includesUpper: false)
    }
}

extension PartialRangeUpTo: ColumnRange {
    public var columnBounds: ColumnBounds<Bound> {
        ColumnBounds(lower: nil, upper: upperBound, includesUpper: false)
    }
}

extension PartialRangeThrough: ColumnRange {
    public var columnBounds: ColumnBounds<Bound> {
        ColumnBounds(lower: nil, upper: upperBound, includesUpper: true)
    }
}

/// The column's value lies in the range: `\.age ~= 18...30`.
public func ~= <Record: ActiveRecord, Bounds: ColumnRange>(
    column: KeyPath<Record, Bounds.Bound>, range: Bounds
) -> Criteria<Record> where Bounds.Bound: Sendable {
    .within(.property(column), range.columnBounds)
}

/// The same of a column that may be nil, which lies in no range.
public func ~= <Record: ActiveRecord, Bounds: ColumnRange>(
    column: KeyPath<Record, Bounds.Bound?>, range: Bounds
) -> Criteria<Record> where Bounds.Bound: Sendable {
    .within(.property(column), range.columnBounds)
}

extension Criteria {
    fileprivate static func within<Bound: Sendable>(
        _ column: ColumnPath<Record>, _ bounds: ColumnBounds<Bound>
    ) -> Criteria {
        var criteria = Criteria.all
        if let lower = bounds.lower { criteria = Criteria(column, .compares(.greaterOrEqual, lower)) }
        if let upper = bounds.upper {
            criteria = criteria && Criteria(column, .compares(bounds.includesUpper ? .lessOrEqual : .less, upper))
        }
        return criteria
    }
}
