package import PushModel
import PushStore
package import PushWire

/// The events of a trace: `{"events":[…],"complete":…}`.
package enum TraceKind: WrittenKind {
    package static var mediaType: String { "application/json; charset=utf-8" }

    package static var schemaName: String? { "Trace" }

    package static var schema: JSONValue {
        [
            "type": "object", "required": ["events", "complete"],
            "properties": [
                "events": ["type": "array", "items": EventLinesKind.event],
                "complete": ["type": "boolean", "description": "Whether the answer contains all events."],
                "left_out": [
                    "type": "array", "items": ["type": "string", "enum": ["events", "devices"]],
                    "description": "What the answer does not cover, if it is not complete.",
                ],
            ],
        ]
    }
}

/// Searches for the events of a subject, and writes what it finds.
package struct Traces: Sendable {
    let log: any EventLog
    private let devices: any DeviceDirectory

    package init(log: any EventLog, devices: any DeviceDirectory) {
        (self.log, self.devices) = (log, devices)
    }

    /// Returns the events of the devices that belong to the user now, in the apps of the caller. Devices of other apps
    /// neither take the places of these, nor show in the answer that there are any.
    func user(_ name: String, for caller: Caller, in search: TraceSearch) async throws -> TraceSearch.Found {
        var filter = DeviceFilter()
        filter.user = name
        var (ids, hasMore): ([DeviceID], Bool) = ([], false)
        for app in caller.apps.map({ $0.map(Optional.some) }) ?? [nil] where !hasMore {
            filter.app = app
            let room = TraceSearch.maxDevices - ids.count
            let page = try await devices.list(filter, after: nil, limit: max(1, room))
            ids += page.devices.prefix(room).map(\.id)
            hasMore = page.next != nil || page.devices.count > room
        }
        var found = try await search.devices(ids)
        found.hasMoreDevices = hasMore
        return found
    }

    /// Returns the events of a Live Activity, with those of its addresses that are registered.
    func activity(
        _ name: String, of app: AppID, startedBy start: MessageID?, in search: TraceSearch
    ) async throws -> TraceSearch.Found {
        var filter = DeviceFilter()
        (filter.app, filter.activity) = (app, name)
        let page = try await devices.list(filter, after: nil, limit: TraceSearch.maxDevices)
        var found = try await search.activity(name, of: app, startedBy: start, addresses: page.devices.map(\.id))
        found.hasMoreDevices = page.next != nil
        return found
    }

    /// Writes the events that the caller may see. If there are more events or devices than the answer can contain,
    /// `complete` is false and `left_out` contains `events`, `devices`, or both.
    func written(_ found: TraceSearch.Found, for caller: Caller) -> WrittenAnswer<TraceKind> {
        let lines = found.lines.filter { EventLines.isVisible($0, to: caller) }
        var body = Array("{\"events\":[".utf8)
        body.reserveCapacity(lines.reduce(200) { $0 + $1.count + 1 })
        for (index, line) in lines.enumerated() {
            if index > 0 { body.append(UInt8(ascii: ",")) }
            body += line
        }
        let leftOut = [found.isComplete ? nil : "\"events\"", found.hasMoreDevices ? "\"devices\"" : nil]
            .compactMap { $0 }.joined(separator: ",")
        body += Array("],\"complete\":\(leftOut.isEmpty)".utf8)
        body += Array((leftOut.isEmpty ? "}\n" : ",\"left_out\":[\(leftOut)]}\n").utf8)
        return WrittenAnswer(body)
    }
}
