import PushLoop
package import PushModel
import PushStore
import PushText
import PushTime
import PushTransport
import PushWire

/// `/v1/events` and `/v1/trace`: the stored events, as the same lines of JSON that monitors receive.
package struct EventRoutes: Sendable {
    package static let maxEvents = 10_000
    package static let maxWait: UInt64 = 10
    /// The maximum number of requests that wait for events at the same time. Each of them occupies a connection of the
    /// control socket, and other requests need connections, too.
    package static let maxWaiting = 16

    private let reader: EventReader
    private let waiting: any EventWaiting
    private let maxWait: UInt64
    private let waiters = Locked(0)
    private let devices: (any DeviceBook)?

    /// Creates the routes.
    ///
    /// - Parameter maxWait: the maximum wait for events, in seconds.
    package init(
        events: any EventLog, waiting: any EventWaiting, maxWait: UInt64 = EventRoutes.maxWait,
        devices: (any DeviceBook)? = nil
    ) {
        self.maxWait = maxWait
        self.devices = devices
        reader = EventReader(log: events)
        self.waiting = waiting
    }

    package var all: [AdminRoute] {
        [
            .written(
                .get, at: "/v1/events", query: ["since", "since_at", "until_at", "last", "prefix", "limit", "wait"]
            ) {
                try await events($0.query)
            },
            .written(.get, at: "/v1/trace", query: ["message", "app", "device", "apns_id", "user", "since", "until"]) {
                try await trace($0.query)
            },
        ]
    }

    /// Returns `{"events":[…],"next":…,"oldest":…,"newest":…,"more":…}`; `next` is the `since` of the next request.
    private func events(_ query: AdminQuery) async throws -> [UInt8] {
        let limit = try query.number("limit", in: 1...Self.maxEvents) ?? 1000
        let prefix = query.text("prefix") ?? ""
        guard prefix.utf8.count <= 128 else { throw AdminFault.badRequest("prefix is longer than 128 bytes") }
        let since = try query.number("since", in: 0...UInt64(Int64.max))
        let wait = try query.number("wait", in: 0...maxWait) ?? 0
        let sinceAt = try query.time("since_at")
        let untilAt = try query.time("until_at")
        if let last = try query.number("last", in: 0...Self.maxEvents) {
            guard since == nil, sinceAt == nil, untilAt == nil, wait == 0, query.text("limit") == nil else {
                throw AdminFault.badRequest("last cannot be combined with since, since_at, until_at, limit or wait")
            }
            return Self.answer(try await reader.last(last, prefix: prefix))
        }
        let span = EventReader.Span(since: sinceAt ?? .distantPast, until: untilAt ?? .distantFuture)
        var start = since ?? 0
        if let sinceAt { start = max(start, try await reader.number(before: sinceAt)) }
        var found = try await reader.forward(since: start, prefix: prefix, limit: limit, span: span)
        guard wait > 0, found.lines.isEmpty, !found.hasMore, found.damaged.isEmpty else { return Self.answer(found) }
        let isFree = waiters.withLock { count -> Bool in
            guard count < Self.maxWaiting else { return false }
            count += 1
            return true
        }
        guard isFree else {
            throw AdminFault(
                429, code: "too_many", message: "\(Self.maxWaiting) requests are waiting for events; try again later")
        }
        defer { waiters.withLock { $0 -= 1 } }
        let deadline = MonotonicTime.current() + .seconds(Int64(wait))
        while found.lines.isEmpty, !found.hasMore, found.damaged.isEmpty {
            let left = deadline - MonotonicTime.current()
            guard left > .zero else { break }
            await waiting.waitForEvents(after: max(found.next, found.newest), for: left)
            found = try await reader.forward(since: found.next, prefix: prefix, limit: limit, span: span)
        }
        return Self.answer(found)
    }

    private static func answer(_ found: EventReader.Found) -> [UInt8] {
        var body = events(found.lines)
        let members: [(String, UInt64)] = [
            ("next", found.next), ("oldest", found.oldest), ("newest", found.newest),
        ]
        for (name, number) in members { body += Array(",\"\(name)\":\(number)".utf8) }
        body += Array(",\"more\":\(found.hasMore)".utf8)
        if !found.damaged.isEmpty {
            body += Array(",\"damaged\":[\(found.damaged.map { "\($0)" }.joined(separator: ","))]".utf8)
        }
        return body + Array("}\n".utf8)
    }

    /// Returns the beginning of a JSON object with its first member, `events`.
    private static func events(_ lines: [[UInt8]]) -> [UInt8] {
        var body = Array("{\"events\":[".utf8)
        body.reserveCapacity(lines.reduce(200) { $0 + $1.count + 1 })
        for (index, line) in lines.enumerated() {
            if index > 0 { body.append(UInt8(ascii: ",")) }
            body += line
        }
        body.append(UInt8(ascii: "]"))
        return body
    }

    // MARK: Trace

    /// Returns `{"events":[…],"complete":…}`, with the events in order. If there are more events or devices than the
    /// answer can contain, `complete` is false and `left_out` contains `events`, `devices`, or both.
    private func trace(_ query: AdminQuery) async throws -> [UInt8] {
        let since = try query.time("since") ?? .distantPast
        let until = try query.time("until") ?? .distantFuture
        guard since <= until else { return Self.traced(TraceSearch.Found()) }
        return Self.traced(try await found(query, in: TraceSearch(log: reader.log, span: since...until)))
    }

    private static func traced(_ found: TraceSearch.Found) -> [UInt8] {
        let leftOut = [found.isComplete ? nil : "\"events\"", found.hasMoreDevices ? "\"devices\"" : nil]
            .compactMap { $0 }.joined(separator: ",")
        return events(found.lines) + Array(",\"complete\":\(leftOut.isEmpty)".utf8)
            + Array((leftOut.isEmpty ? "}\n" : ",\"left_out\":[\(leftOut)]}\n").utf8)
    }

    /// Searches for the subject of the query, which must name exactly one.
    private func found(_ query: AdminQuery, in search: TraceSearch) async throws -> TraceSearch.Found {
        let subjects = ["message", "device", "apns_id", "user"].filter { query.text($0) != nil }
        guard subjects.count == 1, let text = query.text(subjects[0]) else {
            throw AdminFault.badRequest("name one subject to trace: message, device, apns_id or user")
        }
        guard subjects[0] == "message" || query.text("app") == nil else {
            throw AdminFault.badRequest("app can only be combined with message")
        }
        switch subjects[0] {
        case "message":
            guard let id = MessageID(text) else {
                throw AdminFault.badRequest("a message id has 1 to 128 bytes and no control characters")
            }
            var app: AppID?
            if let name = query.text("app") {
                app = AppID(name)
                guard app != nil else { throw AdminFault.unknownApp(PlainText.line(name, limit: 80)) }
            }
            return try await search.message(id, app: app)
        case "device":
            guard let id = DeviceID(text) else {
                throw AdminFault.badRequest("a device id is \(DeviceID.textLength) lower-case hexadecimal digits")
            }
            return try await search.device(id)
        case "apns_id":
            guard let id = APNSID(text) else { throw AdminFault.badRequest("an apns-id is a UUID") }
            return try await search.apnsID(id)
        default: return try await user(text, in: search)
        }
    }

    /// Returns the events of the devices that belong to the user now.
    private func user(_ name: String, in search: TraceSearch) async throws -> TraceSearch.Found {
        var filter = DeviceFilter()
        filter.user = name
        guard let page = try await devices?.list(filter, after: nil, limit: TraceSearch.mostDevices) else {
            throw AdminFault(404, code: "not_found", message: "this server has no registry")
        }
        var found = try await search.devices(page.devices.map(\.id))
        found.hasMoreDevices = page.next != nil
        return found
    }
}
