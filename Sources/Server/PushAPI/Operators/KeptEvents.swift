package import PushModel
package import PushStore

/// Events that are kept for longer than the log keeps them, on a single node.
package protocol KeptEvents: Sendable {
    /// Returns the kept events of some apps, or of all, after a number and whose topic begins with a prefix, in order: the
    /// first ones up to a limit, or the last ones. A page of the first ones examines a bounded number of events, and may have none although there
    /// are more.
    func page(
        prefix: String, apps: [AppID]?, since: UInt64, span: EventReader.Span, limit: Int, ofLast isLast: Bool
    ) async throws -> KeptPage
}

package struct KeptPage: Sendable {
    package var lines: [[UInt8]]
    /// The number of the last event that was examined.
    package var last: UInt64
    package var hasMore: Bool

    package init(lines: [[UInt8]], last: UInt64, hasMore: Bool) {
        (self.lines, self.last, self.hasMore) = (lines, last, hasMore)
    }
}
