import PushAPI
import PushText

/// Deliveries of one message that follow each other and ended alike, as one line of its story.
struct AlikeEvents {
    /// As many are shown one by one.
    private static let maxSingle = 5

    let first: EventRecord
    private(set) var last: EventRecord
    private(set) var count = 1

    init(_ event: EventRecord) {
        (first, last) = (event, event)
    }

    /// Returns the events in their order, of which alike neighbors are one run if they are many.
    static func runs(of events: [EventRecord]) -> [AlikeEvents] {
        var runs: [AlikeEvents] = []
        var start = 0
        while start < events.count {
            var end = start + 1
            while end < events.count, isAlike(events[start], to: events[end]) { end += 1 }
            if end - start > maxSingle {
                var run = AlikeEvents(events[start])
                (run.last, run.count) = (events[end - 1], end - start)
                runs.append(run)
            } else {
                runs += events[start..<end].map { AlikeEvents($0) }
            }
            start = end
        }
        return runs
    }

    private static func isAlike(_ one: EventRecord, to other: EventRecord) -> Bool {
        one.family == "delivery" && other.family == "delivery" && one.kind == other.kind && one.reason == other.reason
            && one.number("status") == other.number("status") && one.app == other.app
            && one.text("message_id") == other.text("message_id") && one.flag("resend") == other.flag("resend")
    }

    /// The line of many events; nil for one, which is described with its device.
    var sentence: String? {
        guard count > 1 else { return nil }
        let reason = first.reason.map { ": \(PlainText.line($0, limit: 60))" } ?? ""
        let kind = first.kind == "retry" ? "deferred" : PlainText.line(first.kind, limit: 40)
        return "\(StatsScreen.number(count)) deliveries \(kind)\(reason)"
    }
}
