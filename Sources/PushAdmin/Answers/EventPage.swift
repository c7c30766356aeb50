import PushStore
import PushWire

/// The events in the answer to `GET /v1/events` or `GET /v1/trace`, as lines of JSON.
package struct EventPage {
    static let nextHeader = "Carillon-Next"
    static let oldestHeader = "Carillon-Oldest"
    static let newestHeader = "Carillon-Newest"
    static let moreHeader = "Carillon-More"
    static let damagedHeader = "Carillon-Damaged"

    package private(set) var lines: [[UInt8]] = []
    package private(set) var next: UInt64 = 0
    package private(set) var oldest: UInt64 = 0
    package private(set) var newest: UInt64 = 0
    package private(set) var hasMore = false
    /// Whether more events, and more devices, exist than the answer covers.
    package private(set) var leavesOut = (events: false, devices: false)
    /// The first numbers of the segments that could not be read.
    package private(set) var damaged: [UInt64] = []

    /// Parses the answer to `GET /v1/events`. Returns nil if it is malformed.
    package init?(lines answer: AdminAnswer) {
        func number(_ name: String) -> UInt64? { answer.headers[name].flatMap { UInt64($0) } }
        guard let next = number(Self.nextHeader), let oldest = number(Self.oldestHeader),
            let newest = number(Self.newestHeader)
        else { return nil }
        (self.next, self.oldest, self.newest) = (next, oldest, newest)
        hasMore = answer.headers[Self.moreHeader] == "true"
        damaged = (answer.headers[Self.damagedHeader] ?? "").split(separator: ",").compactMap { UInt64($0) }
        lines = answer.body.split(separator: UInt8(ascii: "\n")).map { Array($0) }
    }

    /// Parses the answer to `GET /v1/trace`. Returns nil if it is malformed.
    package init?(trace body: [UInt8]) {
        guard let document = try? JSONDocument(body, depthLimit: EventDetails.depthLimit),
            let events = document.value("events", in: document.root), document.kind(events) == .array
        else { return nil }
        for event in document.elements(events) { lines.append(Array(document.text(event))) }
        let isComplete = document.value("complete", in: document.root).flatMap { document.bool($0) } ?? true
        let named = document.value("left_out", in: document.root).map { list in
            document.elements(list).compactMap { document.string($0) }
        }
        leavesOut = (named?.contains("events") ?? !isComplete, named?.contains("devices") ?? false)
    }
}
