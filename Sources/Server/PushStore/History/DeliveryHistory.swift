package import PushModel
package import PushTime
import PushWire

/// The ended deliveries of a message, from the kept events. The work for a page is bounded: a page may have fewer
/// deliveries than were asked for, and even none, and still have a next one.
package struct DeliveryHistory: Sendable {
    package struct Delivery: Sendable {
        package let seq: UInt64
        package let time: WallTime
        package let app: AppID
        package let kind: EventKind
        package let device: DeviceID?
        package let deliveryID: DeliveryID?
        package let status: UInt64?
        package let attempt: UInt64?
        package let reason: String?
    }

    package struct Page: Sendable {
        package var deliveries: [Delivery] = []
        /// Whether there is any event of the message after the cursor.
        package var isKnown = false
        package var next: UInt64?
    }

    private static let rowsAtOnce = 64
    private static let maxRows = 512

    package let log: any EventLog

    package init(log: any EventLog) {
        self.log = log
    }

    package func list(_ id: MessageID, app: AppID, after: UInt64, limit: Int) async throws -> Page {
        try await list(id, apps: [app], after: after, limit: limit)
    }

    /// Returns those of the messages with one id to the members of a family, which are in one part of the log.
    package func list(_ id: MessageID, apps: [AppID], after: UInt64, limit: Int) async throws -> Page {
        var page = Page()
        let wanted = Array(id.text.utf8)
        var (at, rows) = (after, 0)
        while true {
            let begun = at
            let segments = try await log.trace(.message(id, app: apps.first), after: at, limit: Self.rowsAtOnce)
            for segment in segments where segment.last > at {
                var isFull = false
                // A damaged segment is skipped.
                try? segment.entries(since: at) { entry in
                    let event = entry.event
                    guard entry.concerns(wanted), let app = entry.app, apps.contains(app) else { return true }
                    page.isKnown = true
                    guard Self.isEnd(entry) else { return true }
                    guard page.deliveries.count < limit else {
                        isFull = true
                        return false
                    }
                    page.deliveries.append(
                        Delivery(
                            seq: event.seq, time: event.time, app: app, kind: event.kind, device: event.device,
                            deliveryID: event.deliveryID, status: event.status, attempt: event.attempt,
                            reason: entry.reason))
                    return true
                }
                if isFull {
                    page.next = page.deliveries.last?.seq
                    return page
                }
                at = segment.last
            }
            rows += segments.count
            guard segments.count >= Self.rowsAtOnce, at > begun else { return page }
            if rows >= Self.maxRows {
                page.next = at
                return page
            }
        }
    }

    /// Returns whether the event is the last one of its delivery, apart from reports of the app.
    private static func isEnd(_ entry: borrowing LogEntry) -> Bool {
        switch entry.event.kind {
        case .deliverySent, .deliveryRejected, .deliveryExpired, .deliverySuppressed, .deliverySuperseded: true
        case .deliveryUnknown: entry.details?.flag("resend") != true
        default: false
        }
    }
}
