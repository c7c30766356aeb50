package import PushModel
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
    /// The place for the next request, and the range of stored events.
    package private(set) var nextPlace = LogPosition()
    package private(set) var oldestPlace = LogPosition()
    package private(set) var newestPlace = LogPosition()
    package private(set) var hasMore = false
    /// Whether more events, and more devices, exist than the answer covers.
    package private(set) var leavesOut = (events: false, devices: false)
    /// The first numbers of the segments that could not be read, as text.
    package private(set) var damagedPlaces: [String] = []

    /// The same numbers on a single node.
    package var next: UInt64 { nextPlace[0] }
    package var oldest: UInt64 { oldestPlace[0] }
    package var newest: UInt64 { newestPlace[0] }
    package var damaged: [UInt64] { damagedPlaces.compactMap { UInt64($0) } }

    /// Creates a page without events.
    package init() {}

    /// Parses the answer to `GET /v1/events`. Returns nil if it is malformed.
    package init?(lines answer: APIAnswer) {
        func place(_ name: String) -> LogPosition? { answer.headers[name].flatMap { LogPosition($0) } }
        guard let next = place(Self.nextHeader), let oldest = place(Self.oldestHeader),
            let newest = place(Self.newestHeader)
        else { return nil }
        (nextPlace, oldestPlace, newestPlace) = (next, oldest, newest)
        hasMore = answer.headers[Self.moreHeader] == "true"
        damagedPlaces = (answer.headers[Self.damagedHeader] ?? "").split(separator: ",").map { String($0) }
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
