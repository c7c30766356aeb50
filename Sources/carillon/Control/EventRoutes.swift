import PushLoop
import PushModel
import PushTime
import PushTransport
import PushWire

/// `/v1/events` and `/v1/trace`: what the ledger holds, as the lines that monitors read.
struct EventRoutes: Sendable {
    static let mostEvents = 10_000
    static let longestWait: UInt64 = 10
    /// How many may wait for events at a time: each holds a connection of the control socket, and others need some too.
    static let mostWaiting = 16

    private let reader: EventReader
    private let waiting: any EventWaiting
    private let longestWait: UInt64
    private let waiters = Locked(0)

    /// - Parameter longestWait: in seconds.
    init(events: any EventLog, waiting: any EventWaiting, longestWait: UInt64 = EventRoutes.longestWait) {
        self.longestWait = longestWait
        reader = EventReader(log: events)
        self.waiting = waiting
    }

    var all: [ControlRoute] {
        [
            .written(.get, "/v1/events", query: ["since", "last", "prefix", "limit", "wait"]) {
                try await events($0.query)
            },
            .written(.get, "/v1/trace", query: ["message", "app", "device"]) { try await trace($0.query) },
        ]
    }

    /// `{"events":[…],"next":…,"oldest":…,"newest":…,"more":…}`: `next` is the `since` of the next request.
    private func events(_ query: ControlQuery) async throws -> [UInt8] {
        let limit = try query.number("limit", in: 1...Self.mostEvents) ?? 1000
        let prefix = query.text("prefix") ?? ""
        guard prefix.utf8.count <= 128 else { throw ControlFault.badRequest("prefix is longer than 128 bytes") }
        let since = try query.number("since", in: 0...UInt64(Int64.max))
        let wait = try query.number("wait", in: 0...longestWait) ?? 0
        if let last = try query.number("last", in: 0...Self.mostEvents) {
            guard since == nil, wait == 0, query.text("limit") == nil else {
                throw ControlFault.badRequest("last goes without since, limit and wait")
            }
            return Self.answer(try await reader.last(last, prefix: prefix))
        }
        var found = try await reader.forward(since: since ?? 0, prefix: prefix, limit: limit)
        guard wait > 0, found.lines.isEmpty, !found.hasMore, found.damaged.isEmpty else { return Self.answer(found) }
        let isFree = waiters.withLock { count -> Bool in
            guard count < Self.mostWaiting else { return false }
            count += 1
            return true
        }
        guard isFree else {
            throw ControlFault(429, "too_many", "\(Self.mostWaiting) wait for events already; try again in a while")
        }
        defer { waiters.withLock { $0 -= 1 } }
        let deadline = MonotonicTime.current() + .seconds(Int64(wait))
        while found.lines.isEmpty, !found.hasMore, found.damaged.isEmpty {
            let left = deadline - MonotonicTime.current()
            guard left > .zero else { break }
            await waiting.waitForEvents(after: max(found.next, found.newest), for: left)
            found = try await reader.forward(since: found.next, prefix: prefix, limit: limit)
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

    /// The beginning of an object, with its first member.
    private static func events(_ lines: [[UInt8]]) -> [UInt8] {
        var body = Array("{\"events\":[".utf8)
        body.reserveCapacity(lines.reduce(200) { $0 + $1.count + 1 })
        for (place, line) in lines.enumerated() {
            if place > 0 { body.append(UInt8(ascii: ",")) }
            body += line
        }
        body.append(UInt8(ascii: "]"))
        return body
    }

    // MARK: Trace

    /// `{"events":[…],"complete":…}`, in order. `complete` is false where there is more than fits.
    private func trace(_ query: ControlQuery) async throws -> [UInt8] {
        let found: TraceSearch.Found
        let search = TraceSearch(log: reader.log)
        switch (query.text("message"), query.text("device")) {
        case (let text?, nil):
            guard let id = MessageID(text) else {
                throw ControlFault.badRequest("a message id has 1 to 128 bytes and no control characters")
            }
            var app: AppID?
            if let name = query.text("app") {
                app = AppID(name)
                guard app != nil else { throw ControlFault.unknownApp(PlainText.line(name, limit: 80)) }
            }
            found = try await search.message(id, app: app)
        case (nil, let text?):
            guard query.text("app") == nil else { throw ControlFault.badRequest("app goes with message") }
            guard let id = DeviceID(text) else {
                throw ControlFault.badRequest("a device id is \(DeviceID.textLength) lower-case hexadecimal digits")
            }
            found = try await search.device(id)
        default: throw ControlFault.badRequest("name what to trace: either message or device")
        }
        return Self.events(found.lines) + Array(",\"complete\":\(found.isComplete)}\n".utf8)
    }
}
