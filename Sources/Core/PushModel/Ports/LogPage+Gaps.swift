/// Gaps as monitors see them: like events that are not kept any more.
extension LogPage {
    /// Returns the gap that begins at or before the event after `since`, and ends after it; nil if there is none.
    package func gap(at since: UInt64) -> ClosedRange<UInt64>? {
        gaps.first { $0.lowerBound - 1 <= since && since < $0.upperBound }
    }

    /// Returns the page for a reader that has the events up to `since` and must notice each gap.
    ///
    /// Such a page ends before the next gap. If the next event is in a gap, the oldest stored event of the page is the
    /// one after that gap, so that the reader learns that the numbers in between are gone.
    package func divided(after since: UInt64) -> LogPage {
        guard let next = gaps.first(where: { $0.upperBound > since }) else { return self }
        guard next.lowerBound - 1 <= since else {
            return LogPage(
                segments: segments.filter { $0.last < next.lowerBound }, oldest: oldest,
                newest: min(newest, next.lowerBound - 1), gaps: gaps)
        }
        let rest = LogPage(
            segments: segments.filter { $0.first > next.upperBound }, oldest: max(oldest, next.upperBound + 1),
            newest: newest, gaps: gaps)
        return rest.divided(after: next.upperBound)
    }
}
