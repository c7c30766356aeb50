import PushModel
package import PushStore
package import PushTime
import PushWire

/// An event, parsed from its line of JSON.
package struct EventRecord: Sendable {
    /// The line as it was received.
    package let line: [UInt8]
    private let document: JSONDocument

    /// Returns nil unless the line is an object.
    package init?(_ line: [UInt8]) {
        guard let document = try? JSONDocument(line, depthLimit: EventDetails.depthLimit),
            document.kind(document.root) == .object
        else {
            return nil
        }
        self.line = line
        self.document = document
    }

    package func text(_ name: StaticString) -> String? {
        document.value(name, in: document.root).flatMap { document.string($0) }
    }

    package func number(_ name: StaticString) -> Int64? {
        document.value(name, in: document.root).flatMap { document.integer($0) }
    }

    package func flag(_ name: StaticString) -> Bool? {
        document.value(name, in: document.root).flatMap { document.bool($0) }
    }

    /// Returns the members of an object of numbers, in their order.
    package func numbers(_ name: StaticString) -> [(name: String, number: Int64)]? {
        guard let object = document.value(name, in: document.root), document.kind(object) == .object else { return nil }
        return document.members(object).compactMap { member in
            document.integer(member.value).map { (document.string(member.key) ?? "", $0) }
        }
    }

    package var time: WallTime { WallTime(milliseconds: number("ts") ?? 0) }
    package var seq: UInt64 { UInt64(max(0, number("seq") ?? 0)) }
    /// The part of the number in a cluster.
    package var part: Int { Int(clamping: number("part") ?? 0) }
    package var family: String { text("family") ?? "" }
    package var kind: String { text("kind") ?? "" }
    package var app: String? { text("app").flatMap { $0 == "-" ? nil : $0 } }
    package var reason: String? { text("reason") }

    private static let common: Set<String> = [
        "v", "seq", "prev", "part", "ts", "family", "app", "kind", "message_id", "device", "apns_id", "attempt",
        "status", "reason", "latency_ms", "traceparent",
    ]

    /// The audience and the options in an acceptance event.
    package var request: MessageSummary.Request { EventDetails(document).request }

    /// The members that other kinds of events do not have, with their values as text.
    package var particulars: [(name: String, value: String)] {
        document.members(document.root).compactMap { member in
            guard let name = document.string(member.key), !Self.common.contains(name) else { return nil }
            let value = document.string(member.value) ?? String(decoding: document.text(member.value), as: UTF8.self)
            return (name, value)
        }
    }
}
