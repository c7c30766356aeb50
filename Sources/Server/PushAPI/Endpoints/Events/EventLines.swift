import PushModel
import PushStore
package import PushWire

/// Lines of events, as monitors receive them.
enum EventLines {
    /// Whether the caller may see an event: one of its apps, or any event if it has rights for all apps.
    static func isVisible(_ line: [UInt8], to caller: Caller) -> Bool {
        guard caller.apps != nil else { return true }
        guard let document = try? JSONDocument(line, depthLimit: EventDetails.depthLimit),
            let name = document.value("app", in: document.root).flatMap({ document.string($0) }),
            let app = AppID(name)
        else { return false }
        return caller.has(app)
    }
}

/// Events, one on each line, as monitors receive them.
package enum EventLinesKind: WrittenLines {
    package static func lineSchema(in book: inout NamedSchemas) -> JSONValue? {
        book.schema(named: "Event", event)
    }

    static var event: JSONValue {
        [
            "type": "object",
            "description": "An event. Documentation/Protocol.md describes the further members of each kind.",
            "required": ["v", "seq", "prev", "ts", "family", "app", "kind"],
            "properties": [
                "v": ["type": "integer", "enum": [1]], "seq": ["type": "integer"], "prev": ["type": "integer"],
                "part": ["type": "integer", "description": "the part of the log in a cluster; left out if it is 0"],
                "ts": ["type": "integer", "description": "milliseconds since 1970"],
                "family": ["enum": .array(EventKind.families.map { .string($0) })],
                "app": ["type": "string"], "kind": ["type": "string"],
            ],
            "additionalProperties": true,
        ]
    }
}

/// A live stream of events: `id` is the number, `event` is family.kind, and `data` is the line.
package enum EventStreamKind: WrittenKind {
    package static var mediaType: String { "text/event-stream" }
    package static var schema: JSONValue { ["type": "string"] }
}
