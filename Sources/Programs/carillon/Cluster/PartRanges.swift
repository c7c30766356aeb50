/// Formats the numbers of partitions: `0-20, 43`.
enum PartRanges {
    /// Returns the numbers as ranges, in ascending order; a dash if there are none.
    static func text(_ parts: [Int]) -> String {
        var ranges: [ClosedRange<Int>] = []
        for part in parts.sorted() {
            guard let last = ranges.last, part &- 1 <= last.upperBound else {
                ranges.append(part...part)
                continue
            }
            ranges[ranges.count - 1] = last.lowerBound...max(last.upperBound, part)
        }
        guard !ranges.isEmpty else { return "-" }
        return ranges.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }
            .joined(separator: ", ")
    }
}
