import PushModel
import PushTime
package import PushWire

/// The members of an event that only events of its kind have.
package struct EventDetails {
    /// The maximum nesting of a page of events. The deepest event is an acceptance with tags, each level of which is an
    /// object that contains a list.
    package static let depthLimit = 2 * TagExpression.maxDepth + 8

    private let document: JSONDocument

    package init(_ document: JSONDocument) {
        self.document = document
    }

    package func number(_ name: StaticString) -> Int64? {
        document.value(name, in: document.root).flatMap { document.integer($0) }
    }

    private func time(_ name: StaticString) -> WallTime? { number(name).map { WallTime(milliseconds: $0) } }

    package func text(_ name: StaticString) -> String? {
        document.value(name, in: document.root).flatMap { document.string($0) }
    }

    private func texts(_ name: StaticString) -> [String]? {
        document.value(name, in: document.root).map { list in
            document.elements(list).compactMap { document.string($0) }
        }
    }

    package func flag(_ name: StaticString) -> Bool? {
        document.value(name, in: document.root).flatMap { document.bool($0) }
    }

    /// The request, as an acceptance event describes it.
    package var request: MessageSummary.Request {
        var request = MessageSummary.Request()
        request.audience = text("audience")
        request.users = texts("users")
        request.activities = texts("activities")
        request.userCount = number("user_count")
        request.tags = document.value("tags", in: document.root).map { document.value(at: $0) }
        request.pushType = text("push_type")
        request.priority = number("priority")
        request.expiresAt = time("expires_at")
        request.notBeforeAt = time("not_before_at")
        request.atLocal = text("at_local")
        request.collapseID = text("collapse_id")
        request.onUnknown = text("on_unknown")
        request.client = text("client")
        return request
    }

    package var counts: MessageSummary.Counts {
        var counts = MessageSummary.Counts()
        guard let object = document.value("counts", in: document.root) else { return counts }
        func count(_ name: StaticString) -> UInt64 {
            UInt64(max(0, document.value(name, in: object).flatMap { document.integer($0) } ?? 0))
        }
        counts.sent = count("sent")
        counts.rejected = count("rejected")
        counts.expired = count("expired")
        counts.suppressed = count("suppressed")
        counts.superseded = count("superseded")
        counts.unknown = count("unknown")
        counts.cancelled = count("cancelled")
        let preferred = count("preferred")
        counts.preferred = preferred > 0 ? preferred : nil
        return counts
    }
}
