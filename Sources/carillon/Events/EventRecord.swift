import PushModel
import PushWire

/// An event as a line tells it, for people's eyes.
struct EventRecord: Sendable {
    /// As it came.
    let line: [UInt8]
    private let document: JSONDocument

    /// Levels of the deepest event: the tags of an acceptance, each level of which is an object with a list in it, and a
    /// page of events around it.
    static let depthLimit = 2 * TagExpression.maximumDepth + 8

    /// Nil unless it is an object.
    init?(_ line: [UInt8]) {
        guard let document = try? JSONDocument(line, depthLimit: Self.depthLimit),
            document.kind(document.root) == .object
        else {
            return nil
        }
        self.line = line
        self.document = document
    }

    func text(_ name: StaticString) -> String? {
        document.value(name, in: document.root).flatMap { document.string($0) }
    }

    func number(_ name: StaticString) -> Int64? {
        document.value(name, in: document.root).flatMap { document.integer($0) }
    }

    func flag(_ name: StaticString) -> Bool? {
        document.value(name, in: document.root).flatMap { document.bool($0) }
    }

    /// An object of numbers, in its order.
    func numbers(_ name: StaticString) -> [(name: String, number: Int64)]? {
        guard let object = document.value(name, in: document.root), document.kind(object) == .object else { return nil }
        return document.members(object).compactMap { member in
            document.integer(member.value).map { (document.string(member.key) ?? "", $0) }
        }
    }

    var time: Int64 { number("ts") ?? 0 }
    var seq: UInt64 { UInt64(max(0, number("seq") ?? 0)) }
    var family: String { text("family") ?? "" }
    var kind: String { text("kind") ?? "" }
    var app: String? { text("app").flatMap { $0 == "-" ? nil : $0 } }
    var reason: String? { text("reason") }

    private static let common: Set<String> = [
        "v", "seq", "prev", "ts", "family", "app", "kind", "message_id", "device", "apns_id", "attempt", "status",
        "reason", "latency_ms", "traceparent",
    ]

    /// The audience and the options in an acceptance event.
    var request: MessageAnswer.Request { EventDetails(document).request }

    /// What only its kind has, as `name value`.
    var particulars: String {
        document.members(document.root).compactMap { member in
            guard let name = document.string(member.key), !Self.common.contains(name) else { return nil }
            let value = document.string(member.value) ?? String(decoding: document.text(member.value), as: UTF8.self)
            return PlainText.line("\(name.replacing("_", with: " ")) \(value)", limit: 300)
        }.joined(separator: ", ")
    }
}

/// The answer to `GET /v1/events` and `GET /v1/trace`, its events still as they were written.
struct EventPage {
    private(set) var lines: [[UInt8]] = []
    let next: UInt64
    let oldest: UInt64
    let newest: UInt64
    let hasMore: Bool
    /// What there is more of than these events, and than the devices that were looked at.
    let leavesOut: (events: Bool, devices: Bool)
    private(set) var damaged: [UInt64] = []

    init(_ body: [UInt8]) throws(Failure) {
        guard let document = try? JSONDocument(body, depthLimit: EventRecord.depthLimit),
            let events = document.value("events", in: document.root), document.kind(events) == .array
        else { throw Failure(.failed, "the answer is not to be understood; is it the same version of Carillon?") }
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
            for place in document.elements(list) { damaged.append(UInt64(max(0, document.integer(place) ?? 0))) }
        }
    }
}
