import PushModel
import PushStore
import PushWire

/// The answer to `GET /v1/events` and `GET /v1/trace`, with the events as lines of JSON.
package struct EventPage {
    package private(set) var lines: [[UInt8]] = []
    package let next: UInt64
    package let oldest: UInt64
    package let newest: UInt64
    package let hasMore: Bool
    /// Whether more events, and more devices, exist than the answer covers.
    package let leavesOut: (events: Bool, devices: Bool)
    package private(set) var damaged: [UInt64] = []

    /// Returns nil if the response is malformed.
    package init?(_ body: [UInt8]) {
        guard let document = try? JSONDocument(body, depthLimit: EventDetails.depthLimit),
            let events = document.value("events", in: document.root), document.kind(events) == .array
        else { return nil }
        func number(_ name: StaticString) -> UInt64 {
            UInt64(max(0, document.value(name, in: document.root).flatMap { document.integer($0) } ?? 0))
        }
        for event in document.elements(events) { lines.append(Array(document.text(event))) }
        next = number("next")
        oldest = number("oldest")
        newest = number("newest")
        hasMore = document.value("more", in: document.root).flatMap { document.bool($0) } ?? false
        let isComplete = document.value("complete", in: document.root).flatMap { document.bool($0) } ?? true
        let named = document.value("left_out", in: document.root).map { list in
            document.elements(list).compactMap { document.string($0) }
        }
        leavesOut = (named?.contains("events") ?? !isComplete, named?.contains("devices") ?? false)
        if let list = document.value("damaged", in: document.root) {
            for element in document.elements(list) { damaged.append(UInt64(max(0, document.integer(element) ?? 0))) }
        }
    }
}
